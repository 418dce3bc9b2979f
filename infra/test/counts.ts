import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** How many tests ended how, and how long each file took. */
export type Counts = {
  passed: number
  failed: number
  skipped: number
  failures: string[]
  seconds: [file: string, seconds: number][]
}

/** The sum of what the packages' runs left in a folder. */
export const sumOf = (folder: string): Counts => {
  const sum: Counts = { passed: 0, failed: 0, skipped: 0, failures: [], seconds: [] }
  for (const file of readdirSync(folder)) {
    const counts = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Counts
    sum.passed += counts.passed
    sum.failed += counts.failed
    sum.skipped += counts.skipped
    sum.failures.push(...counts.failures)
    sum.seconds.push(...counts.seconds)
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

const slow = { most: 25, seconds: 10 }

/** The files that a run waits for longest, for whoever wants it to be faster; empty where none is slow. */
export const slowest = ({ seconds }: Counts): string =>
  seconds
    .filter(([, taken]) => taken >= slow.seconds)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, slow.most)
    .map(([file, taken]) => `${taken.toFixed(0).padStart(5)} s  ${file}\n`)
    .join('')
