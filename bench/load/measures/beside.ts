import { setTimeout as pause } from 'node:timers/promises'
import { makeFile } from '../data/make-file.ts'
import { onDatabase } from '../database.ts'
import { lifeOf } from '../life.ts'
import { product } from '../contenders/product.ts'
import type { Installation } from '../installation.ts'
import { calm, median } from '../rounds.ts'
import type { Parts, Report } from './measure.ts'

/** What everybody else notices of a load: the API's clients, and readers of the table that is replaced. */
export async function* beside(parts: Parts, megabytes: number): AsyncGenerator<Report> {
  const { installation, rounds } = parts
  const file = await makeFile(parts.folder, 'wide', megabytes)
  const own = await product(installation, { name: `beside_${megabytes}`, type: 'CSV_UPLOAD', file })
  await own.load()
  const times: number[] = []
  const waits: number[] = []
  for (let round = 0; round < rounds; round++) {
    await calm(installation.databaseUrl('postgres'))
    const idle = p95(await askWhile(installation, pause(5000)))
    const load = own.load()
    const reading = Promise.all([waitForSwap(own.table(), load), waitForSwap(own.table(), load)])
    times.push(p95(await askWhile(installation, load)) / idle)
    waits.push(...(await reading))
  }
  yield {
    title: `Beside a load of ${megabytes} MB`,
    figures: [],
    targets: [
      { text: 'API p95 during a load / idle', value: median(times), limit: 2, unit: '×' },
      { text: 'longest wait of a reader for the swap', value: Math.max(...waits), limit: 20, unit: 'ms' },
    ],
  }
}

/** Milliseconds of requests one after the other, twenty a second, as people and their pages ask. */
async function askWhile({ pipelineUrl, token }: Installation, work: Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  const headers = { authorization: `Bearer ${await token()}` }
  for (const life = lifeOf(work); !life.over; await pause(50)) {
    const began = performance.now()
    const response = await fetch(`${pipelineUrl}/api/v1/data-pipelines?pageSize=20`, { headers })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`The API answered ${response.status} during a load.`)
    times.push(performance.now() - began)
  }
  await work
  return times
}

/**
 * Milliseconds that somebody who reads the table all the time waited for its swap: the read that was the first to see
 * the new rows, or the last that saw the old ones. Reads in the middle of a load wait for processors, as all requests do.
 */
async function waitForSwap({ database, table }: { database: string; table: string }, work: Promise<unknown>) {
  return onDatabase(database, async (reader) => {
    let [before, wait] = [{ rows: '', took: 0 }, 0]
    for (const life = lifeOf(work); !life.over; await pause(1)) {
      const began = performance.now()
      const { rows } = await reader.query<{ rows: string }>(`select tableoid::text as rows from ${table} limit 1`)
      const now = { rows: rows[0]!.rows, took: performance.now() - began }
      if (before.rows && before.rows !== now.rows) wait = Math.max(before.took, now.took)
      before = now
    }
    if (wait === 0) throw new Error('No reader met the swap.')
    return wait
  })
}

function p95(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN
}
