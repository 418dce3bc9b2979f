/** Removes trailing white space and semicolons from SQL. Scans from the end, because a regular expression is quadratic in the number of blanks. */
export function trimStatementEnd(sql: string): string {
  let end = sql.length
  while (end > 0 && /[\s;]/.test(sql[end - 1]!)) end -= 1
  return sql.slice(0, end)
}
