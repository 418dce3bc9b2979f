import { stat } from 'node:fs/promises'
import { product } from '../../load/contenders/product.ts'
import { parquetOf } from '../../load/measures/parquet.ts'
import { compare, type Line, type Parts } from '../line.ts'
import { rawCommand } from '../raw.ts'
import type { Reference } from '../reference.ts'

const fromDisk = (path: string, size: number) => rawCommand('cat "$FILE"', size, { FILE: path })

/** An upload as it lies in the files of the service, against reading it from the disk. */
export async function csv(parts: Parts, { file, expected }: Reference): Promise<Line> {
  const own = await product(parts.installation, { name: 'source_csv', type: 'CSV_UPLOAD', file })
  return compare(parts, {
    type: 'CSV_UPLOAD',
    what: 'CSV',
    raw: fromDisk(file.path, file.size),
    own,
    expected,
  })
}

export async function parquet(parts: Parts, { file, expected }: Reference): Promise<Line> {
  const path = await parquetOf(file.path)
  const { size } = await stat(path)
  const own = await product(parts.installation, {
    name: 'source_parquet',
    type: 'PARQUET_UPLOAD',
    file: { path, size },
  })
  const what = 'Parquet, snappy'
  return compare(parts, { type: 'PARQUET_UPLOAD', what, raw: fromDisk(path, size), own, expected })
}
