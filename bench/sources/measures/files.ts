import { stat } from 'node:fs/promises'
import { createSluiceLoader } from '../../load/loaders/sluice-loader.ts'
import { convertToParquet } from '../../load/measures/parquet.ts'
import { compare, type SourceResult, type BenchContext, type Reference } from './measure.ts'
import { rawCommand } from '../raw-transfer.ts'

const fromDisk = (path: string, size: number) => rawCommand('cat "$FILE"', size, { FILE: path })

/** Measures an uploaded file against reading it from the disk. */
export async function csv(context: BenchContext, { file, expected }: Reference): Promise<SourceResult> {
  const sluice = await createSluiceLoader(context.installation, { name: 'source_csv', type: 'CSV_UPLOAD', file })
  return compare(context, {
    type: 'CSV_UPLOAD',
    label: 'CSV',
    raw: fromDisk(file.path, file.size),
    sluice,
    expected,
  })
}

export async function parquet(context: BenchContext, { file, expected }: Reference): Promise<SourceResult> {
  const path = await convertToParquet(file.path)
  const { size } = await stat(path)
  const sluice = await createSluiceLoader(context.installation, {
    name: 'source_parquet',
    type: 'PARQUET_UPLOAD',
    file: { path, size },
  })
  const label = 'Parquet, snappy'
  return compare(context, { type: 'PARQUET_UPLOAD', label, raw: fromDisk(path, size), sluice, expected })
}
