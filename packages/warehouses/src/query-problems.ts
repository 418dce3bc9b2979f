/** Follows the server's sentence about a query that reads a table or view that is not in the warehouse. */
export const missingTableAdvice =
  'It was deleted or not created yet. Load the table, create the view, or correct the query.'

/** Servers repeat what they could not read, and that may be the value of a secured variable. */
export function redactValues(words: string, values: readonly (string | null)[]): string {
  let left = words.slice(0, 1_500)
  for (const value of [...values].sort((a, b) => (b?.length ?? 0) - (a?.length ?? 0)))
    if (value && value.length > 3) left = left.replace(new RegExp(RegExp.escape(value), 'giu'), '…')
    else if (value) left = left.replaceAll(`'${value}'`, 'the value of a variable')
  return left
}
