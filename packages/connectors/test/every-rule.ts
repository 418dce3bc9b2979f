import { it } from '@jest/globals'
import { longRunOnly } from '@sluice/testing/long-run'
import { type Row, rows, type Without } from './rules.ts'

/** One test for each row; a row that does not apply says why, and is skipped with that. */
export function everyRow<Never extends Row>(
  without: Without & Record<Never, string>,
  tests: Record<Exclude<Row, Never>, () => Promise<void>>,
  { missing }: { missing?: string | undefined } = {},
): void {
  const written: Partial<Record<Row, () => Promise<void>>> = tests
  for (const [row, sentence] of Object.entries(rows) as [Row, string][]) {
    const reason = missing ?? without[row] ?? (row === 'large' ? longRunOnly : undefined)
    const test = written[row]
    if (reason !== undefined || !test) it.skip(`${sentence} (${reason})`, () => {})
    else it(sentence, test)
  }
}
