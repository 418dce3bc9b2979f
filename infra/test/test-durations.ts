import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Results } from './test-results.ts'

/** Read by the sequencer of the test files, which starts the longest first. */
export const durationsFile = join(import.meta.dirname, 'durations.json')

/** Seconds. Shorter files are not recorded: their order does not matter. */
const minRecordedSeconds = 2

/** Whole seconds by file name for the files that take long; of files of one name, the longest. Sorted, so that changes show. */
export const selectLongDurations = ({ seconds }: Pick<Results, 'seconds'>): Record<string, number> => {
  const longest = new Map<string, number>()
  for (const [file, taken] of seconds) {
    const name = basename(file)
    longest.set(name, Math.max(longest.get(name) ?? 0, Math.round(taken)))
  }
  return Object.fromEntries([...longest].filter(([, taken]) => taken >= minRecordedSeconds).toSorted())
}

/** Keeps the durations of files that this run did not include. */
export const writeDurations = async (results: Results): Promise<void> => {
  const known = JSON.parse(await readFile(durationsFile, 'utf8')) as Record<string, number>
  const ran = new Set(results.seconds.map(([file]) => basename(file)))
  const others = Object.entries(known).filter(([name]) => !ran.has(name))
  const all = Object.fromEntries([...others, ...Object.entries(selectLongDurations(results))].toSorted())
  await writeFile(durationsFile, `${JSON.stringify(all, undefined, 2)}\n`)
}
