import { escapeIdentifier } from 'pg'
import type { Statement } from '../protocol.ts'

/** The statement is something else than a query. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed'

  constructor(options?: ErrorOptions) {
    super('only queries are run', options)
  }
}

/** What is read, as one query. */
export function statementText(statement: Statement): string {
  if ('query' in statement) return statement.query.replace(/[;\s]+$/, '')
  const { schema, name } = statement
  return `select * from ${schema ? `${escapeIdentifier(schema)}.` : ''}${escapeIdentifier(name)}`
}

/**
 * These expressions over a query whose columns are called c1, c2 … in them. The query was parsed alone before, so it is one whole
 * statement whose brackets, quotes and comments end inside it; a comment to the end of the line ends at the line's end.
 */
export function embedded(query: string, expressions: readonly string[], columns: number): string {
  const names = Array.from({ length: columns }, (_, index) => `c${index + 1}`).join(', ')
  return `select ${expressions.join(', ')} from (\n${query}\n) as source(${names})`
}
