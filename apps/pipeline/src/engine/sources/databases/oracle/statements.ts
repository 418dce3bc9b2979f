import type { Statement } from '../protocol.ts'

/** The statement is something else than a query. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed'

  constructor() {
    super('only queries are run')
  }
}

/** Oracle has no way to quote a quotation mark in a name, and so no name with one. */
const quoted = (name: string): string => `"${name.replaceAll('"', '')}"`

/** What is read, as one query: the protocol takes one statement at a time. */
export function statementText(statement: Statement): string {
  if ('query' in statement) return statement.query.replace(/[;\s]+$/, '')
  const { schema, name } = statement
  return `select * from ${schema ? `${quoted(schema)}.` : ''}${quoted(name)}`
}
