import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { median } from '../../statistics.ts'
import { type EventLoopRecord, measureEventLoop } from '../event-loop-record.ts'
import { runInterleaved } from '../interleaved-rounds.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { readPeakMemory, resetPeakMemory } from '../process-memory.ts'
import { readProcessorTime } from '../processor-time.ts'
import { pageCount, recordShapes, rowCount, startPageServer } from './http-pages.ts'
import type { BenchContext, MeasureReport } from './measure.ts'

/** A worker compiles its hot code during the first runs, so fewer rounds would mostly measure that. */
const minRounds = 9
/** Milliseconds for which the idle worker is measured. Its processor time is subtracted. */
const idleMs = 5_000

/**
 * Measures the worker while it reads pages of JSON from a function: processor time, delay of the event loop, and
 * growth.
 */
export async function* httpSystems(context: BenchContext): AsyncGenerator<MeasureReport> {
  for (const shape of Object.keys(recordShapes) as (keyof typeof recordShapes)[])
    yield await measureShape(context, shape)
}

async function measureShape(
  { installation, rounds, peers }: BenchContext,
  shape: keyof typeof recordShapes,
): Promise<MeasureReport> {
  const { workerPid: pid, folder } = installation
  await using server = await startPageServer(shape)
  await resetPeakMemory(pid)
  const idleMemory = await readPeakMemory(pid)
  const loader = await createSluiceLoader(installation, {
    name: `http_${shape}`,
    type: 'FUNCTION',
    settings: { functionSource: { url: server.url } },
  })
  // The first run creates the tables, and compiles much of the hot code.
  const { memory: firstMemory } = await loader.load()
  const beforeIdle = await readProcessorTime(pid)
  const idle = await measureEventLoop({ pid, folder }, () => pause(idleMs))
  const idleShare = ((await readProcessorTime(pid)) - beforeIdle) / idleMs
  const workerMs: number[] = []
  const records: EventLoopRecord[] = []
  const fetchMs: number[] = []
  const measured = {
    ...loader,
    async load() {
      const [startedAt, before] = [performance.now(), await readProcessorTime(pid)]
      let cost: Awaited<ReturnType<typeof loader.load>>
      records.push(await measureEventLoop({ pid, folder }, async () => (cost = await loader.load())))
      const used = (await readProcessorTime(pid)) - before
      workerMs.push(Math.max(1, used - idleShare * (performance.now() - startedAt)))
      fetchMs.push(await fetchPages(server.url))
      return cost!
    },
  }
  const figures = await runInterleaved([measured], Math.max(rounds, minRounds), peers)
  const workerSeconds = median(workerMs) / 1_000
  const longest = (field: 'longestDelay' | 'longestBusy') =>
    Math.max(...records.map((record) => record[field])).toFixed(1)
  return {
    title: `HTTP system: ${rowCount} rows of ${pageCount} pages, ${shape}`,
    figures,
    bytes: server.bytes,
    targets: [
      {
        text: `the worker for 100,000 rows (${Math.round(rowCount / workerSeconds)} rows per second of processor time)`,
        value: (workerSeconds * 100_000) / rowCount,
        limit: 1,
        unit: 's',
      },
      {
        text: `the worker / fetch and JSON.parse in a process of its own (${median(fetchMs).toFixed(0)} ms)`,
        value: (workerSeconds * 1_000) / median(fetchMs),
        limit: 3,
        unit: '×',
      },
      {
        text: `delay of the event loop, percentile 99.9 (idle ${idle.delay.toFixed(1)}, maximum ${longest('longestDelay')})`,
        value: median(records.map(({ delay }) => delay)),
        limit: 10,
        unit: 'ms',
      },
      {
        text: `processor time between two turns of the event loop, percentile 99.9 (idle ${idle.busy.toFixed(1)}, maximum ${longest('longestBusy')})`,
        value: median(records.map(({ busy }) => busy)),
        limit: 10,
        unit: 'ms',
      },
      { text: 'growth of the worker in the first run', value: firstMemory - idleMemory, limit: 60, unit: 'MiB' },
    ],
  }
}

/** Returns the processor time in milliseconds of a process that fetches and parses all pages. */
async function fetchPages(url: string): Promise<number> {
  const program = join(import.meta.dirname, 'fetch-pages.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program, url])
  return Number(stdout)
}
