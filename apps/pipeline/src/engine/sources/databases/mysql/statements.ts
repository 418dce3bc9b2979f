import type { Statement } from '../protocol.ts'

/** The statement is something else than a query. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed'

  constructor() {
    super('only queries are run')
  }
}

export const backticked = (name: string): string => `\`${name.replaceAll('`', '``')}\``

/** What is read, as one query; of a table, which columns of it. */
export function statementText(statement: Statement, columns = '*'): string {
  if ('query' in statement) return statement.query.replace(/[;\s]+$/, '')
  const { schema, name } = statement
  return `select ${columns} from ${schema ? `${backticked(schema)}.` : ''}${backticked(name)}`
}

/**
 * Throws `NotAllowed` unless the statement begins like a query. That it is one only is the protocol's rule, and that it changes nothing
 * the transaction's; this keeps out what ends a transaction, or is told to the server's operator and not to its tables.
 */
export function demandQuery(text: string): void {
  const start = text.replace(/^(?:\s+|--[ \t][^\n]*(?:\n|$)|--\n|#[^\n]*(?:\n|$)|\/\*(?![!+M])[^]*?\*\/|\()+/, '')
  if (!/^(select|with|values|table)\b/i.test(start)) throw new NotAllowed()
}
