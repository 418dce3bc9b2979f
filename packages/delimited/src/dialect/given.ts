import type { Grammar } from '../grammar.ts'
import { delimiterByte, type DelimitedOptions } from './options.ts'

const quotes = { DOUBLE: 34, SINGLE: 39, NONE: -1 } as const

/** What the options, or the file's own directive, say about the grammar. */
export function givenGrammar(options: DelimitedOptions, directive: number | undefined): Partial<Grammar> {
  const delimiter = options.delimiter === undefined ? directive : delimiterByte(options.delimiter)
  return {
    ...(delimiter !== undefined && { delimiter }),
    ...(options.quote && { quote: quotes[options.quote] }),
    ...(options.escape && { escape: options.escape === 'BACKSLASH' ? 92 : -1 }),
    ...(options.comment !== undefined && { comment: options.comment.charCodeAt(0) }),
    ...(options.trimSpaces !== undefined && { padded: options.trimSpaces }),
  }
}

/** `sep=;` in the first line is how spreadsheets are told their delimiter. */
export function separatorDirective(head: Uint8Array, { skipLines }: DelimitedOptions): number | undefined {
  if (skipLines !== undefined) return undefined
  const start = Buffer.from(head.subarray(0, 16)).toString('latin1')
  return /^"?sep=([^\w"'\\\r\n])"?\s*[\r\n]/i.exec(start)?.[1]?.charCodeAt(0)
}
