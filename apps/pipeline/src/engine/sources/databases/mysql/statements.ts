import { NotAllowed } from '../statements.ts'

export const backticked = (name: string): string => `\`${name.replaceAll('`', '``')}\``

/**
 * Throws `NotAllowed` unless the statement begins like a query. That it is one only is the protocol's rule, and that it changes nothing
 * the transaction's; this keeps out what ends a transaction, or is told to the server's operator and not to its tables.
 */
export function demandQuery(text: string): void {
  const start = text.replace(/^(?:\s+|--[ \t][^\n]*(?:\n|$)|--\n|#[^\n]*(?:\n|$)|\/\*(?![!+M])[^]*?\*\/|\()+/, '')
  if (!/^(select|with|values|table)\b/i.test(start)) throw new NotAllowed()
}
