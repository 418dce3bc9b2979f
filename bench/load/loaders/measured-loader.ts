import { stat } from 'node:fs/promises'
import type { Installation } from '../installation.ts'
import { readProcessorTime } from '../processor-time.ts'
import type { Loader } from './loader.ts'
import { createSluiceLoader } from './sluice-loader.ts'

/** A loader that measures the processor time of the worker. */
export interface MeasuredLoader extends Loader {
  /** Milliseconds of each load. */
  workerMs: number[]
}

/** Uploads a file of any format. The name of its loader and of its table is `label`. */
export async function createMeasuredLoader(
  { installation }: { installation: Installation },
  label: string,
  path: string,
): Promise<MeasuredLoader> {
  const name = `file_${label.toLowerCase().replace(/[^a-z0-9]+/g, '_')}`
  const file = { path, size: (await stat(path)).size }
  const type = path.endsWith('.parquet') ? 'PARQUET_UPLOAD' : 'CSV_UPLOAD'
  return { ...measureWorker(installation, await createSluiceLoader(installation, { name, type, file })), name: label }
}

/** Returns the same loader, which also measures the processor time of the worker. */
export function measureWorker(installation: Installation, loader: Loader): MeasuredLoader {
  const workerMs: number[] = []
  return {
    ...loader,
    workerMs,
    async load() {
      const before = await readProcessorTime(installation.workerPid)
      const cost = await loader.load()
      workerMs.push((await readProcessorTime(installation.workerPid)) - before)
      return cost
    },
  }
}
