import { htmlText } from '@sluice/mail/html-text'

/** Markup that was made by `html`, and by nothing else: all that came from outside is escaped in it. */
export interface HtmlMarkup {
  readonly markup: string
}

export type HtmlValue = HtmlMarkup | string | number | false | null | undefined | readonly HtmlValue[]

const made = new WeakSet<object>()

/**
 * A piece of a page. What is put in is escaped, for text as well as for attributes in double quotes, unless it is such a
 * piece itself; lists are joined; false, null and undefined show nothing.
 */
export function html(pieces: TemplateStringsArray, ...values: HtmlValue[]): HtmlMarkup {
  const markup = pieces.reduce((text, piece, index) => text + renderValue(values[index - 1]) + piece)
  const piece = Object.freeze({ markup })
  made.add(piece)
  return piece
}

/** Something that only looks like a piece, such as JSON from a request, is refused. */
function renderValue(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return ''
  if (Array.isArray(value)) return value.map(renderValue).join('')
  if (typeof value === 'string' || typeof value === 'number') return htmlText(String(value))
  if (made.has(value)) return (value as HtmlMarkup).markup
  throw new TypeError('only text and pieces of html can be shown')
}

/** A name that people chose, kept from turning the text around it right to left. */
export const name = (text: string): HtmlMarkup => html`<bdi>${text}</bdi>`

/** Removes the characters that change the text direction, for places without markup such as a title. */
export const withoutDirectionMarks = (text: string): string =>
  text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')

/** Returns a safe href: local paths and http(s) URLs only; `#` for anything else, such as a script URL. */
export function safeHref(href: string): string {
  if (/^[/?](?![/\\])/.test(href)) return href
  return URL.canParse(href) && /^https?:$/.test(new URL(href).protocol) ? href : '#'
}
