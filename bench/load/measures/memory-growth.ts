import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import {
  mariadbMissing,
  startMariadb,
} from '../../../packages/connectors/src/database-connector/test/mariadb-server.ts'
import { createDataFile } from '../data-files.ts'
import { createWorkbookFile } from '../excel-file.ts'
import type { Loader } from '../loaders/loader.ts'
import { createMeasuredLoader } from '../loaders/measured-loader.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { readPeakMemory, resetPeakMemory } from '../process-memory.ts'
import { objectSettings, putPieces, startStore } from '../object-folder.ts'
import { createSourceDatabase, buildJdbcSource } from './postgres-to-postgres.ts'
import { excelRows } from './excel.ts'
import { startFilledMariadb } from './mariadb.ts'
import type { BenchContext, MeasureReport } from './measure.ts'
import { convertToNdjson } from './ndjson.ts'
import { convertToParquet } from './parquet.ts'
import { createManyTables } from './many-tables.ts'

const maxGrowth = 60
const smallObjects = 1_000
/** Milliseconds after its start in which a worker becomes idle. */
const settlingMs = 4_000

/** Measures the growth of a new worker over its idle memory by one run, for each kind of source. */
export async function* growth(context: BenchContext, megabytes: number): AsyncGenerator<MeasureReport> {
  await using sources = new AsyncDisposableStack()
  const loaders = await createLoaders(context, megabytes, sources)
  const idle: number[] = []
  const targets = []
  for (const loader of loaders) {
    const measured = await growthOf(context, loader)
    idle.push(measured.idle)
    targets.push({ text: loader.name, value: measured.growth, limit: maxGrowth, unit: 'MiB' })
  }
  yield {
    title: `Growth of the worker by one run (idle: ${Math.min(...idle).toFixed(0)} to ${Math.max(...idle).toFixed(0)} MiB)`,
    figures: [],
    targets,
  }
  await context.installation.restartWorker()
}

async function growthOf({ installation }: BenchContext, loader: Loader) {
  await installation.restartWorker()
  await pause(settlingMs)
  await resetPeakMemory(installation.workerPid)
  const idle = await readPeakMemory(installation.workerPid)
  const { memory } = await loader.load()
  return { idle, growth: memory - idle }
}

/** Returns a loader for each kind of source. Their servers run until `sources` is disposed of. */
async function createLoaders(
  context: BenchContext,
  megabytes: number,
  sources: AsyncDisposableStack,
): Promise<Loader[]> {
  const { installation, folder } = context
  const wide = await createDataFile(folder, 'wide', megabytes)
  const nested = await createDataFile(folder, 'nested', megabytes)
  const packed = `${wide.path}.gz`
  await writeFile(packed, gzipSync(await readFile(wide.path), { level: 1 }))
  const loaders: Loader[] = [
    await createMeasuredLoader(context, `CSV of ${megabytes} MB`, wide.path),
    await createMeasuredLoader(context, 'the same in gzip', packed),
    await createMeasuredLoader(context, 'NDJSON', await convertToNdjson(nested.path)),
    await createMeasuredLoader(context, 'Parquet', await convertToParquet(wide.path)),
    await createMeasuredLoader(context, 'Excel', (await createWorkbookFile(folder, excelRows)).workbook),
  ]
  const add = async (name: string, type: string, settings: object) => {
    const table = `growth_${name.toLowerCase().replaceAll(/[^a-z]+/g, '_')}`
    loaders.push({ ...(await createSluiceLoader(installation, { name: table, type, settings })), name })
  }
  const source = await createSourceDatabase(context, wide.path)
  await add('PostgreSQL', 'SQL_DATABASE_D', {
    jdbcSource: buildJdbcSource(source),
    sqlQuery: 'select * from public.source',
  })
  if (!mariadbMissing()) {
    const mariadb = sources.use(await startFilledMariadb(wide.path))
    await add('MariaDB', 'SQL_DATABASE_B', { jdbcSource: mariadb.jdbcSource, sqlQuery: 'select * from source' })
    await add('100 tables', 'SQL_DATABASE_B', await createManyTables(sources.use(await startMariadb())))
  }
  const running = await startStore('OBJECT_STORAGE_BUCKET')
  if (running) {
    const { store, kind } = sources.use(running)
    await store.put('large/wide.csv', await readFile(wide.path))
    await putPieces(store, (await createDataFile(folder, 'narrow', 10)).path, smallObjects)
    await add(`${smallObjects} objects`, kind.type, objectSettings(store, 'parts/'))
    await add('one large object', kind.type, objectSettings(store, 'large/'))
  }
  return loaders
}
