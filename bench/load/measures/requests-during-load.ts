import { setTimeout as pause } from 'node:timers/promises'
import { createDataFile } from '../data-files.ts'
import { withConnection } from '../database.ts'
import { trackCompletion } from '../../track-completion.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import type { Installation } from '../installation.ts'
import { flushPendingWrites } from '../interleaved-rounds.ts'
import { median } from '../../statistics.ts'
import type { BenchContext, MeasureReport } from './measure.ts'

/** Measures requests of the API during a load, and readers of the table that the load replaces. */
export async function* requestsDuringLoad(context: BenchContext, megabytes: number): AsyncGenerator<MeasureReport> {
  const { installation, rounds } = context
  const file = await createDataFile(context.folder, 'wide', megabytes)
  const sluice = await createSluiceLoader(installation, { name: `during_load_${megabytes}`, type: 'CSV_UPLOAD', file })
  await sluice.load()
  const times: number[] = []
  const waits: number[] = []
  for (let round = 0; round < rounds; round++) {
    await flushPendingWrites(installation.databaseUrl('postgres'))
    const idle = p95(await measureRequestsDuring(installation, pause(5000)))
    const load = sluice.load()
    const reading = Promise.all([measureSwapWait(sluice.table(), load), measureSwapWait(sluice.table(), load)])
    times.push(p95(await measureRequestsDuring(installation, load)) / idle)
    waits.push(...(await reading))
  }
  yield {
    title: `Requests during a load of ${megabytes} MB`,
    figures: [],
    targets: [
      { text: 'API p95 during a load / idle', value: median(times), limit: 2, unit: '×' },
      { text: 'longest wait of a reader for the swap', value: Math.max(...waits), limit: 20, unit: 'ms' },
    ],
  }
}

/** Sends requests one after the other, about twenty per second, until `work` ends. Returns their milliseconds. */
async function measureRequestsDuring({ pipelineUrl, token }: Installation, work: Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  const headers = { authorization: `Bearer ${await token()}` }
  for (const completion = trackCompletion(work); !completion.done; await pause(50)) {
    const startedAt = performance.now()
    const response = await fetch(`${pipelineUrl}/api/v1/data-pipelines?pageSize=20`, { headers })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`The API returned ${response.status} during a load.`)
    times.push(performance.now() - startedAt)
  }
  await work
  return times
}

/**
 * Returns how many milliseconds a constant reader of the table waits for the swap: the longer of the last read of the
 * old rows and the first read of the new rows. Other reads wait for processors only, as all requests do.
 */
async function measureSwapWait({ database, table }: { database: string; table: string }, work: Promise<unknown>) {
  return withConnection(database, async (reader) => {
    let [before, wait] = [{ rows: '', took: 0 }, 0]
    for (const completion = trackCompletion(work); !completion.done; await pause(1)) {
      const startedAt = performance.now()
      const { rows } = await reader.query<{ rows: string }>(`select tableoid::text as rows from ${table} limit 1`)
      const now = { rows: rows[0]!.rows, took: performance.now() - startedAt }
      if (before.rows && before.rows !== now.rows) wait = Math.max(before.took, now.took)
      before = now
    }
    if (wait === 0) throw new Error('No reader observed the swap.')
    return wait
  })
}

function p95(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN
}
