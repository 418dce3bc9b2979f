import { setTimeout as pause } from 'node:timers/promises'
import { makeFile } from '../data/make-file.ts'
import { onDatabase } from '../database.ts'
import { lifeOf } from '../life.ts'
import { product } from '../contenders/product.ts'
import type { Installation } from '../installation.ts'
import { median } from '../rounds.ts'
import type { Parts, Report } from './measure.ts'

/** What everybody else notices of a load: the API's clients, and readers of the table that is replaced. */
export async function* beside(parts: Parts, megabytes: number): AsyncGenerator<Report> {
  const { installation, rounds } = parts
  const file = await makeFile(parts.folder, 'wide', megabytes)
  const own = await product(installation, { name: `beside_${megabytes}`, type: 'CSV_UPLOAD', file })
  await own.load()
  const idle: number[] = []
  const busy: number[] = []
  const waits: number[] = []
  for (let round = 0; round < rounds; round++) {
    idle.push(p95(await askWhile(installation, pause(3000))))
    const load = own.load()
    const reading = readWhile(own.table(), load)
    busy.push(p95(await askWhile(installation, load)))
    waits.push(Math.max(...(await reading)))
  }
  yield {
    title: `Beside a load of ${megabytes} MB`,
    figures: [],
    targets: [
      { text: 'API p95 during a load / idle', value: median(busy) / median(idle), limit: 2, unit: '×' },
      { text: 'longest wait of a reader for the swap', value: median(waits), limit: 20, unit: 'ms' },
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

/** Milliseconds that each of many readers needed for a row of the table: those that meet the swap wait for its lock. */
async function readWhile({ database, table }: { database: string; table: string }, work: Promise<unknown>) {
  const times = [0]
  await onDatabase(database, async (reader) => {
    for (const life = lifeOf(work); !life.over; await pause(2)) {
      const began = performance.now()
      await reader.query(`select from ${table} limit 1`)
      times.push(performance.now() - began)
    }
  })
  return times
}

function p95(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN
}
