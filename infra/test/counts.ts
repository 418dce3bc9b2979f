import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** How many tests ended how. */
export type Counts = { passed: number; failed: number; skipped: number; failures: string[] }

/** The sum of what the packages' runs left in a folder. */
export const sumOf = (folder: string): Counts => {
  const sum: Counts = { passed: 0, failed: 0, skipped: 0, failures: [] }
  for (const file of readdirSync(folder)) {
    const counts = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Counts
    sum.passed += counts.passed
    sum.failed += counts.failed
    sum.skipped += counts.skipped
    sum.failures.push(...counts.failures)
  }
  return sum
}

/** What failed, and the closing line that people and CI look for. */
export const closingLine = ({ passed, failed, skipped, failures }: Counts): string =>
  `${shown(failures)}Tests: ${passed} passed, ${failed} failed, ${skipped} skipped`

const most = 40

function shown(failures: readonly string[]): string {
  const lines = failures.slice(0, most).map((failure) => `✗ ${failure}\n`)
  return lines.join('') + (failures.length > most ? `✗ and ${failures.length - most} more\n` : '')
}
