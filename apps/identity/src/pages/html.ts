import { htmlText } from '@sluice/mail/email-content'

/** Markup that the function `html` created. All external text in it is escaped. */
export interface HtmlMarkup {
  readonly markup: string
}

export type HtmlValue = HtmlMarkup | string | number | false | null | undefined | readonly HtmlValue[]

const escapedMarkup = new WeakSet<object>()

/**
 * Template tag that returns markup. Escapes values, unless they are markup themselves, so that they are safe as text
 * and in attributes in double quotes. Concatenates arrays; renders false, null and undefined as nothing.
 */
export function html(pieces: TemplateStringsArray, ...values: HtmlValue[]): HtmlMarkup {
  const markup = pieces.reduce((text, piece, index) => text + renderValue(values[index - 1]) + piece)
  const piece = Object.freeze({ markup })
  escapedMarkup.add(piece)
  return piece
}

/** Renders a value. Throws for objects that only look like markup, such as JSON from a request. */
function renderValue(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return ''
  if (Array.isArray(value)) return value.map(renderValue).join('')
  if (typeof value === 'string' || typeof value === 'number') return htmlText(String(value))
  if (escapedMarkup.has(value)) return (value as HtmlMarkup).markup
  throw new TypeError('a template value must be text, a number or markup that html created')
}

/** Isolates a user-supplied name, so that it cannot change the text direction of its surroundings. */
export const isolateName = (text: string): HtmlMarkup => html`<bdi>${text}</bdi>`

/** Removes characters that change the text direction, for use where markup is not possible, such as in a page title. */
export const removeDirectionMarks = (text: string): string =>
  text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')

/**
 * Returns the href if it is safe: a local path or an http(s) URL. Returns `#` for anything else, such as a script URL.
 */
export function toSafeHref(href: string): string {
  if (/^[/?](?![/\\])/.test(href)) return href
  return URL.canParse(href) && /^https?:$/.test(new URL(href).protocol) ? href : '#'
}
