import { htmlText } from '@sluice/mail/email-content'

/** Markup that only `html` creates. All external text in it is escaped. */
export interface HtmlMarkup {
  readonly markup: string
}

export type HtmlValue = HtmlMarkup | string | number | false | null | undefined | readonly HtmlValue[]

const escapedMarkup = new WeakSet<object>()

/**
 * Returns markup. Escapes values for text and for attributes in double quotes, unless the value is markup itself. Joins
 * lists; renders false, null and undefined as nothing.
 */
export function html(pieces: TemplateStringsArray, ...values: HtmlValue[]): HtmlMarkup {
  const markup = pieces.reduce((text, piece, index) => text + renderValue(values[index - 1]) + piece)
  const piece = Object.freeze({ markup })
  escapedMarkup.add(piece)
  return piece
}

/** Renders a value. Rejects objects that only look like markup, such as JSON from a request. */
function renderValue(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return ''
  if (Array.isArray(value)) return value.map(renderValue).join('')
  if (typeof value === 'string' || typeof value === 'number') return htmlText(String(value))
  if (escapedMarkup.has(value)) return (value as HtmlMarkup).markup
  throw new TypeError('a template value must be text, a number or markup that html created')
}

/** Isolates a name that users chose, so that it cannot change the direction of the surrounding text. */
export const isolateName = (text: string): HtmlMarkup => html`<bdi>${text}</bdi>`

/** Removes the characters that change the text direction, for places without markup such as a title. */
export const removeDirectionMarks = (text: string): string =>
  text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')

/** Returns a safe href: local paths and http(s) URLs only; `#` for anything else, such as a script URL. */
export function toSafeHref(href: string): string {
  if (/^[/?](?![/\\])/.test(href)) return href
  return URL.canParse(href) && /^https?:$/.test(new URL(href).protocol) ? href : '#'
}
