/**
 * These expressions over a query whose columns are called c1, c2 … in them. The query was parsed alone before, so it is one whole
 * statement whose brackets, quotes and comments end inside it; a comment to the end of the line ends at the line's end.
 */
export function embedded(query: string, expressions: readonly string[], columns: number): string {
  const names = Array.from({ length: columns }, (_, index) => `c${index + 1}`).join(', ')
  return `select ${expressions.join(', ')} from (\n${query}\n) as source(${names})`
}
