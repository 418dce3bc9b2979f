import { WarehouseProblem } from './warehouse.ts'

/**
 * Throws SQL_NOT_ALLOWED for a comment with a carriage return that no line feed follows. To some servers the comment ends there and to others it
 * does not, so what stands behind may be a string to us and a statement to them, or the other way round.
 */
export function demandPlainComments(sql: string): void {
  // By lines: an expression would try each of very many dashes to the end of its line.
  const endsOddly = (line: string) =>
    line
      .split('\r')
      .slice(0, -1)
      .some((before) => /--|#/.test(before))
  if (!sql.split(/\r?\n/).some(endsOddly)) return
  throw new WarehouseProblem(
    'SQL_NOT_ALLOWED',
    'A comment ends with a carriage return alone, which servers read in different ways. End its line with a line feed.',
  )
}
