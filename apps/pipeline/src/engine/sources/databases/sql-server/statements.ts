import { NotAllowed } from '../statements.ts'

export const bracketed = (name: string): string => `[${name.replaceAll(']', ']]')}]`

/**
 * Throws `NotAllowed` unless the statement begins with SELECT. Statements follow each other here without any sign between them, so a query
 * is run as part of another one only, where a second statement, WITH, and ORDER BY without TOP or OFFSET are not understood.
 */
export function demandQuery(text: string): void {
  const start = text.replace(/^(?:\s+|--[^\n\r]*(?:[\n\r]|$)|\/\*[^]*?\*\/)+/, '')
  if (/^with\b/i.test(start))
    throw new NotAllowed('A query that begins with WITH cannot be read: make it a view, and read that.')
  if (!/^select\b/i.test(start)) throw new NotAllowed()
}

/** These expressions over a query whose columns are called c1, c2 … in them. */
export function embedded(query: string, expressions: readonly string[], columns: number): string {
  const names = Array.from({ length: columns }, (_, index) => `c${index + 1}`).join(', ')
  return `select ${expressions.join(', ')} from (\n${query}\n) as source(${names})`
}
