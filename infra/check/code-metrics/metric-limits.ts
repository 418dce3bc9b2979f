import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Count } from './code-metrics.ts'

/** The maximum of each count, by the name of the count. */
export type CountLimits = Readonly<Record<string, number>>

const limitsFile = join(import.meta.dirname, 'recorded.json')

export const readLimits = (): CountLimits => JSON.parse(readFileSync(limitsFile, 'utf8'))

/** Lowers the limits of counts that have fallen. The limits of counts that have risen stay unchanged. */
export function lowerLimits(counts: readonly Count[], limits: CountLimits): void {
  const lowered = counts.map(({ name, now }) => [name, Math.min(now, limits[name] ?? now)])
  writeFileSync(limitsFile, `${JSON.stringify(Object.fromEntries(lowered), null, 2)}\n`)
}

/** Returns a sentence for each count above its limit. A new count has no limit yet. */
export const findExceededLimits = (counts: readonly Count[], limits: CountLimits): string[] =>
  counts.flatMap(({ name, now }) => {
    const limit = limits[name] ?? now
    return now > limit ? [`${name}: ${now}; at most ${limit} are allowed`] : []
  })

/** Returns a table of all counts, which marks counts above their target. */
export function formatCounts(counts: readonly Count[]): string {
  const lines = counts.map(({ name, now, target }) => {
    const [left, right] = [now, target].map((figure) => figure.toLocaleString('en').padStart(9))
    return `${name.padEnd(54)}${left}${right}${now > target ? '  !' : ''}`
  })
  return [`${'count'.padEnd(54)}${'now'.padStart(9)}${'target'.padStart(9)}`, ...lines].join('\n')
}
