import { access, stat } from 'node:fs/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { kinds } from '../data/kinds.ts'
import { makeFile } from '../data/make-file.ts'
import { peersFor } from '../contenders/peers.ts'
import { product } from '../contenders/product.ts'
import { inTurns } from '../rounds.ts'
import { figuresOf, type Parts, ratio, type Report, right } from './measure.ts'

const psql = 'psql \\copy'

/** The same rows as Parquet, against psql's loading them as CSV. */
export async function* parquet(parts: Parts, megabytes: number): AsyncGenerator<Report> {
  const file = await makeFile(parts.folder, 'wide', megabytes)
  const path = await parquetOf(file.path)
  const peers = (await peersFor(file, parts.peers)).filter(({ name }) => name === psql)
  const source = { name: `parquet_${megabytes}`, type: 'PARQUET_UPLOAD', file: { path, size: (await stat(path)).size } }
  const figures = await inTurns([...peers, await product(parts.installation, source)], parts.rounds, parts.peers)
  yield {
    title: `Parquet of the wide ${megabytes} MB (snappy), against CSV by psql`,
    figures,
    bytes: file.size,
    targets: [
      right(figures),
      { text: `time / ${psql}`, value: ratio(figures, 'Sluice', psql), limit: 1, unit: '×' },
      { text: 'peak memory of the worker', value: figuresOf(figures, 'Sluice').memory, limit: 150, unit: 'MiB' },
    ],
  }
}

/** The wide rows of a CSV file as Parquet beside it; where an earlier run wrote it, it is used again. */
export async function parquetOf(csv: string): Promise<string> {
  const path = csv.replace(/csv$/, 'parquet')
  await access(path).catch(() => writeParquet(csv, path))
  return path
}

async function writeParquet(csv: string, path: string): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const columns = kinds.wide.columns.map((column) => column.split(' '))
  const types = columns.map(([name, type]) => `'${name}': '${type === 'text' ? 'varchar' : type}'`).join(', ')
  await connection.run(
    `copy (select * from read_csv('${csv}', header = true, columns = {${types}})) to '${path}' (format parquet, compression snappy)`,
  )
  connection.closeSync()
}
