/** SQL without the blanks and semicolons behind it. Walked from its end: a regular expression tries from every blank before. */
export function withoutEnd(sql: string): string {
  let end = sql.length
  while (end > 0 && /[\s;]/.test(sql[end - 1]!)) end -= 1
  return sql.slice(0, end)
}
