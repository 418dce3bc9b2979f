import type { Statement } from './protocol.ts'

/** The statement is something else than a query, or, as `message` says, a query that cannot be read as it stands. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed'

  constructor(message = 'only queries are run', options?: ErrorOptions) {
    super(message, options)
  }
}

/** What is read, as one query; of a table, which columns of it. `quoted` is a name as the database quotes it. */
export function statementText(statement: Statement, quoted: (name: string) => string, columns = '*'): string {
  if ('query' in statement) return statement.query.replace(/[;\s]+$/, '')
  const { schema, name } = statement
  return `select ${columns} from ${schema ? `${quoted(schema)}.` : ''}${quoted(name)}`
}
