import { median } from '../statistics.ts'
import { execFileSync } from 'node:child_process'
import type { Loader } from './loaders/loader.ts'
import { executeSql } from './database.ts'
import { type TableContent, readContent, isSameContent } from './table-content.ts'

export interface Figures {
  name: string
  /** Median of all rounds. */
  milliseconds: number
  /** Maximum of all rounds, in MiB. */
  memory: number
  fastest: number
  slowest: number
  /** Whether the loaded rows differ from the expected ones. */
  hasOtherRows: boolean
}

/**
 * Runs all loaders several times, in alternating order, so that other load on the machine affects all of them. Flushes
 * pending writes before each load. Compares the rows of each first load with `expected`, or with those of the first
 * loader.
 */
export async function runInterleaved(
  loaders: Loader[],
  rounds: number,
  admin: string,
  expected?: TableContent,
): Promise<Figures[]> {
  const results = new Map(
    loaders.map(({ name }) => [name, { times: [] as number[], memory: [] as number[], hasOtherRows: false }]),
  )
  let content = expected
  for (let round = 0; round < rounds; round++)
    for (const loader of round % 2 ? loaders.toReversed() : loaders) {
      await loader.prepare?.()
      await flushPendingWrites(admin)
      const { milliseconds, memory } = await loader.load()
      const figures = results.get(loader.name)!
      figures.times.push(milliseconds)
      figures.memory.push(memory)
      if (figures.times.length > 1 || !loader.table) continue
      const found = await readContent(loader.table())
      content ??= found
      figures.hasOtherRows = !isSameContent(found, content)
    }
  return [...results].map(([name, { times, memory, hasOtherRows }]) => ({
    name,
    hasOtherRows,
    milliseconds: median(times),
    memory: Math.max(...memory),
    fastest: Math.min(...times),
    slowest: Math.max(...times),
  }))
}

/** Flushes the writes of earlier loads to the disk. */
export async function flushPendingWrites(admin: string): Promise<void> {
  await executeSql(admin, 'checkpoint')
  execFileSync('sync')
}
