import type { Answer, Result } from './responses.ts'
import type { Statement } from './tds-server-stand-in.ts'

/** What a server says to a statement that looks like this. */
export type Rule = readonly [
  RegExp,
  (match: RegExpExecArray, values: Statement['values'], session: object) => Answer | Promise<Answer>,
]

/** By the first rule that fits. */
export function said(rules: readonly Rule[], { text, values }: Statement, session: object): Answer | Promise<Answer> {
  for (const [pattern, reply] of rules) {
    const match = pattern.exec(text)
    if (match) return reply(match, values, session)
  }
  return undefined
}

/** Columns of these names are whole numbers. */
export const texts = (columns: string[], rows: Result['rows']): Result => ({
  columns: columns.map(
    (name) => [name, /^(id|max_length|precision|scale|n|part)$/.test(name) ? 'int' : 'text'] as const,
  ) as never,
  rows,
})

export const gone = (table: string) => ({ number: 208, message: `Invalid object name '${table}'.` })
