import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Count } from './code-metrics.ts'

/** The highest figure that each count may have, by its name. */
export type Recorded = Readonly<Record<string, number>>

const file = join(import.meta.dirname, 'recorded.json')

export const readRecorded = (): Recorded => JSON.parse(readFileSync(file, 'utf8'))

/** Lowers what is recorded to the figures of today; a figure that has risen stays as it was recorded. */
export function writeRecorded(counts: readonly Count[], recorded: Recorded): void {
  const lowest = counts.map(({ name, now }) => [name, Math.min(now, recorded[name] ?? now)])
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(lowest), null, 2)}\n`)
}

/** The counts that exceed what is recorded, a sentence each. */
export const risen = (counts: readonly Count[], recorded: Recorded): string[] =>
  counts.flatMap(({ name, now }) => {
    const most = recorded[name] ?? now
    return now > most ? [`${name}: ${now}; at most ${most} are allowed`] : []
  })

/** The table of all counts, with a mark where the target is not reached. */
export function tableOf(counts: readonly Count[]): string {
  const lines = counts.map(({ name, now, target }) => {
    const [left, right] = [now, target].map((figure) => figure.toLocaleString('en').padStart(9))
    return `${name.padEnd(54)}${left}${right}${now > target ? '  !' : ''}`
  })
  return [`${'count'.padEnd(54)}${'now'.padStart(9)}${'target'.padStart(9)}`, ...lines].join('\n')
}
