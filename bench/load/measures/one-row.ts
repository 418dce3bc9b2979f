import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { median } from '../../statistics.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { readProcessorTime } from '../processor-time.ts'
import { findServerPid } from '../server-process.ts'
import { logStatements } from '../statement-log.ts'
import type { BenchContext, MeasureReport } from './measure.ts'

/** Runs before the measurement, so that connections are open and code is compiled. */
const warmUpRuns = 5

/** Measures runs that load one row: time, statements of the worker, and processor time of worker and PostgreSQL. */
export async function* oneRow(context: BenchContext): AsyncGenerator<MeasureReport> {
  const { installation, rounds, peers } = context
  const file = await writeOneRow(context.folder)
  const { load } = await createSluiceLoader(installation, { name: 'one_row', type: 'CSV_UPLOAD', file })
  for (let run = 0; run < warmUpRuns; run++) await load()
  const server = await findServerPid(peers)
  const pids = { worker: installation.workerPid, postgres: server }
  const before = { worker: await readProcessorTime(pids.worker), postgres: await readProcessorTime(pids.postgres) }
  const times: number[] = []
  const runs = Math.max(15, rounds)
  for (let run = 0; run < runs; run++) times.push((await load()).milliseconds)
  const used = async (name: keyof typeof pids) => ((await readProcessorTime(pids[name])) - before[name]) / runs
  const processorTimes = { worker: await used('worker'), postgres: await used('postgres') }
  const statements = await logStatements(peers, installation.postgresLog, async () => void (await load()))
  await writeFile(join(context.folder, 'one-row-statements.txt'), `${statements.join('\n')}\n`)
  yield {
    title: `Runs of one row, median of ${runs}`,
    figures: [],
    targets: [
      { text: 'time from request to end', value: median(times), limit: 40, unit: 'ms' },
      {
        text: 'statements of the worker (listed in one-row-statements.txt of the data folder)',
        value: statements.length,
        limit: 35,
        unit: '',
      },
      { text: 'processor time of the worker per run', value: processorTimes.worker, limit: 30, unit: 'ms' },
      { text: 'processor time of PostgreSQL per run', value: processorTimes.postgres, limit: 50, unit: 'ms' },
    ],
  }
}

/** Writes a CSV file with one row. */
export async function writeOneRow(folder: string): Promise<{ path: string; size: number }> {
  const content = 'id,name,day\n1,Oslo,2026-11-01\n'
  const path = join(folder, 'one-row.csv')
  await mkdir(folder, { recursive: true })
  await writeFile(path, content)
  return { path, size: content.length }
}
