import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { TestResults } from './test-results.ts'

/** The file that the sequencer reads to start the longest test files first. */
export const durationsFile = join(import.meta.dirname, 'durations.json')

/** The order of shorter files does not matter, so they are not recorded. */
const minRecordedSeconds = 2

/**
 * Returns the seconds of long test files by file name, rounded and sorted by name. For files with the same name,
 * returns the longest duration.
 */
export const selectLongDurations = ({ seconds }: Pick<TestResults, 'seconds'>): Record<string, number> => {
  const longest = new Map<string, number>()
  for (const [file, taken] of seconds) {
    const name = basename(file)
    longest.set(name, Math.max(longest.get(name) ?? 0, Math.round(taken)))
  }
  return Object.fromEntries([...longest].filter(([, taken]) => taken >= minRecordedSeconds).toSorted())
}

/** Writes the durations of this run. Keeps those of files that did not run. */
export const writeDurations = async (results: TestResults): Promise<void> => {
  const known = JSON.parse(await readFile(durationsFile, 'utf8')) as Record<string, number>
  const executed = new Set(results.seconds.map(([file]) => basename(file)))
  const others = Object.entries(known).filter(([name]) => !executed.has(name))
  const all = Object.fromEntries([...others, ...Object.entries(selectLongDurations(results))].toSorted())
  await writeFile(durationsFile, `${JSON.stringify(all, undefined, 2)}\n`)
}
