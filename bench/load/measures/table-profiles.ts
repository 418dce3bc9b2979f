import { pipelineOperations, type Schema } from '@sluice/contracts'
import { findOrCreateSchema } from '../../../infra/demo/find-or-create.ts'
import { median } from '../../statistics.ts'
import { createDataFile } from '../data-files.ts'
import type { Loader } from '../loaders/loader.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { runInterleaved } from '../interleaved-rounds.ts'
import { readProcessorTime } from '../processor-time.ts'
import { findServerPid } from '../server-process.ts'
import { type BenchContext, type MeasureReport, ratio } from './measure.ts'

const [off, on] = ['without profile', 'with profile'] as const

/**
 * Compares loads of the same file into a schema with table profiles and into one without, in turns. Processor times are
 * those of the worker and of PostgreSQL; other work on the machine changes them less than the time of the load.
 */
export async function* profile(context: BenchContext, megabytes: number): AsyncGenerator<MeasureReport> {
  const { installation, folder, rounds, peers } = context
  const file = await createDataFile(folder, 'wide', megabytes)
  const server = await findServerPid(peers)
  const used = { [off]: [] as number[], [on]: [] as number[] }
  const now = async () => (await readProcessorTime(installation.workerPid)) + (await readProcessorTime(server))
  const loaderOf = async (name: typeof on | typeof off): Promise<Loader> => {
    const schema = await schemaWith(context, name === on)
    const source = { name: `profile_${name === on ? 'on' : 'off'}_${megabytes}`, type: 'CSV_UPLOAD', file }
    const { load } = await createSluiceLoader({ ...installation, schema }, source)
    return {
      name,
      async load() {
        const before = await now()
        const cost = await load()
        used[name].push((await now()) - before)
        return cost
      },
    }
  }
  const figures = await runInterleaved([await loaderOf(off), await loaderOf(on)], rounds, peers)
  const [without, withProfile] = [median(used[off]), median(used[on])]
  yield {
    title: `Table profiles, CSV, wide, ${megabytes} MB`,
    figures,
    bytes: file.size,
    targets: [
      { text: 'time with profile / without', value: ratio(figures, on, off), limit: 1.05, unit: '×' },
      {
        text: `processor time with profile (${withProfile} ms) / without (${without} ms)`,
        value: withProfile / without,
        limit: 1.05,
        unit: '×',
      },
    ],
  }
}

async function schemaWith({ installation }: BenchContext, profileTables: boolean): Promise<Schema> {
  const { pipeline } = installation
  const { id, name } = await findOrCreateSchema(pipeline, `bench_profile_${profileTables ? 'on' : 'off'}`)
  const body = { name, permanent: false, providerSchema: 'SQL_DATABASE_D', profileTables } as const
  return pipeline.call(pipelineOperations.schemas.update, { params: { uid: id }, body })
}
