import { access, stat } from 'node:fs/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { tableKinds, createDataFile } from '../data-files.ts'
import { availableTools } from '../loaders/other-tools.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { runInterleaved } from '../interleaved-rounds.ts'
import { findFigures, type BenchContext, ratio, type MeasureReport, correctnessTarget } from './measure.ts'

const psql = 'psql \\copy'

/** Measures the same rows as Parquet, against psql with the CSV file. */
export async function* parquet(context: BenchContext, megabytes: number): AsyncGenerator<MeasureReport> {
  const file = await createDataFile(context.folder, 'wide', megabytes)
  const path = await convertToParquet(file.path)
  const peers = (await availableTools(file, context.peers)).filter(({ name }) => name === psql)
  const source = { name: `parquet_${megabytes}`, type: 'PARQUET_UPLOAD', file: { path, size: (await stat(path)).size } }
  const figures = await runInterleaved(
    [...peers, await createSluiceLoader(context.installation, source)],
    context.rounds,
    context.peers,
  )
  yield {
    title: `Parquet of the wide ${megabytes} MB (snappy), against CSV by psql`,
    figures,
    bytes: file.size,
    targets: [
      correctnessTarget(figures),
      { text: `time / ${psql}`, value: ratio(figures, 'Sluice', psql), limit: 1, unit: '×' },
      { text: 'peak memory of the worker', value: findFigures(figures, 'Sluice').memory, limit: 150, unit: 'MiB' },
    ],
  }
}

/**
 * Returns a Parquet file with the wide rows of a CSV file, in the same folder. The file of an earlier run is reused.
 */
export async function convertToParquet(csv: string): Promise<string> {
  const path = csv.replace(/csv$/, 'parquet')
  await access(path).catch(() => writeParquet(csv, path))
  return path
}

async function writeParquet(csv: string, path: string): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const columns = tableKinds.wide.columns.map((column) => column.split(' '))
  const types = columns.map(([name, type]) => `'${name}': '${type === 'text' ? 'varchar' : type}'`).join(', ')
  await connection.run(
    `copy (select * from read_csv('${csv}', header = true, columns = {${types}})) to '${path}' (format parquet, compression snappy)`,
  )
  connection.closeSync()
}
