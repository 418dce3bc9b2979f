import { execFileSync } from 'node:child_process'
import { access, readFile, writeFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import { median } from '../../statistics.ts'
import { createDataFile, tableKinds } from '../data-files.ts'
import { runInterleaved } from '../interleaved-rounds.ts'
import { createMeasuredLoader, type MeasuredLoader } from '../loaders/measured-loader.ts'
import { availableTools } from '../loaders/other-tools.ts'
import { readPeakMemory, resetPeakMemory } from '../process-memory.ts'
import { type BenchContext, findFigures, type MeasureReport, ratio } from './measure.ts'

const psql = 'psql \\copy'
const smallLines = 60

/** Measures NDJSON against CSV of the same rows: a file of about `megabytes` as CSV, then small files, also in gzip. */
export async function* ndjson(context: BenchContext, megabytes: number): AsyncGenerator<MeasureReport> {
  const { installation, folder, rounds, peers } = context
  const file = await createDataFile(folder, 'nested', megabytes)
  const json = await convertToNdjson(file.path)
  await resetPeakMemory(installation.workerPid)
  const idle = await readPeakMemory(installation.workerPid)
  const [asCsv, asJson] = [
    withoutTable(await createMeasuredLoader(context, `CSV ${megabytes} MB`, file.path)),
    await createMeasuredLoader(context, `NDJSON ${megabytes} MB`, json),
  ]
  const tools = (await availableTools(file, peers)).filter(({ name }) => name === psql)
  const figures = await runInterleaved([...tools, asCsv, asJson], rounds, peers)
  const loaded = findFigures(figures, asJson.name)
  yield {
    title: `NDJSON of ${megabytes} MB of CSV with nested values`,
    figures,
    bytes: file.size,
    targets: [
      { text: 'wrong loads of the product', value: loaded.hasOtherRows ? 1 : 0, limit: 0, unit: '' },
      {
        text: `processor time of the worker (${median(asJson.workerMs)} ms) / with CSV (${median(asCsv.workerMs)} ms)`,
        value: median(asJson.workerMs) / median(asCsv.workerMs),
        limit: 2,
        unit: '×',
      },
      { text: `time / ${psql} of the CSV`, value: ratio(figures, asJson.name, psql), limit: 1, unit: '×' },
      { text: 'growth of the worker', value: loaded.memory - idle, limit: 60, unit: 'MiB' },
    ],
  }
  yield* smallFiles(context, file.path, json)
}

/**
 * Measures what a small file of another format costs more than a CSV file of the same rows, in processor time of the
 * worker.
 */
async function* smallFiles(context: BenchContext, csv: string, json: string): AsyncGenerator<MeasureReport> {
  const [smallCsv, smallJson] = [await firstLines(csv, smallLines + 1), await firstLines(json, smallLines)]
  const packed = `${smallCsv}.gz`
  await writeFile(packed, gzipSync(await readFile(smallCsv)))
  const loaders = [
    withoutTable(await createMeasuredLoader(context, 'small CSV', smallCsv)),
    await createMeasuredLoader(context, 'small NDJSON', smallJson),
    withoutTable(await createMeasuredLoader(context, 'small CSV in gzip', packed)),
  ]
  const figures = await runInterleaved(loaders, Math.max(15, context.rounds), context.peers)
  const mean = (values: number[]) => values.reduce((sum, each) => sum + each, 0) / values.length
  const [csvMs, ...otherMs] = loaders.map(({ workerMs }) => mean(workerMs.slice(1)))
  yield {
    title: `Files of ${smallLines} rows`,
    figures,
    targets: otherMs.map((ms, index) => ({
      text: `processor time of the worker for a ${loaders[index + 1]!.name}, more than for CSV (${csvMs!.toFixed(1)} ms)`,
      value: ms - csvMs!,
      limit: 15,
      unit: 'ms',
    })),
  }
}

/** The nested values of CSV are TEXT, so only the tables of NDJSON can be compared with psql's. */
function withoutTable({ name, workerMs, load }: MeasuredLoader): MeasuredLoader {
  return { name, workerMs, load }
}

/** Returns an NDJSON file with the rows of a CSV file, in the same folder. The file of an earlier run is reused. */
export async function convertToNdjson(csv: string): Promise<string> {
  const path = csv.replace(/csv$/, 'ndjson')
  await access(path).catch(() => writeNdjson(csv, path))
  return path
}

async function writeNdjson(csv: string, path: string): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const columns = tableKinds.nested.columns.map((column) => column.split(' '))
  // Dates and times are texts in JSON.
  const types: Record<string, string> = { text: 'varchar', date: 'varchar', timestamp: 'varchar', jsonb: 'json' }
  const list = columns.map(([name, type]) => `'${name}': '${types[type!] ?? type}'`).join(', ')
  await connection.run(
    `copy (select * from read_csv('${csv}', header = true, columns = {${list}})) to '${path}' (format json)`,
  )
  connection.closeSync()
}

async function firstLines(path: string, lines: number): Promise<string> {
  const small = path.replace(/\.(\w+)$/, '-small.$1')
  await writeFile(small, execFileSync('head', ['-n', String(lines), path]))
  return small
}
