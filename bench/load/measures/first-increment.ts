import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestStore } from '../../../packages/connectors/src/object-store/test/object-stores-under-test.ts'
import { serveSwift, stopSwift } from '../../../packages/testing/src/shared-openstack-swift.ts'
import { setAutovacuum } from '../database.ts'
import { createLoadedPipeline, runAndWait } from '../loaders/sluice-loader.ts'
import { serverMeter } from '../server-process.ts'
import type { BenchContext, MeasureReport, Target } from './measure.ts'

const tableRows = 5_000_000
const incrementRows = 100
const increments = 4

/**
 * Measures the processor time of PostgreSQL for increments into a table of five million rows: a folder of an object
 * store gets new objects with a hundred rows each. The full load does not give the table a key, so the first increment
 * has to. Autovacuum is off.
 */
export async function* firstIncrement(context: BenchContext): AsyncGenerator<MeasureReport> {
  // This module checks for installed programs when it is imported.
  const { kindsOfStores } = await import(
    '../../../packages/connectors/src/object-store/test/object-stores-under-test.ts'
  )
  const kind = kindsOfStores.find(({ type }) => type === 'OBJECT_STORAGE_BUCKET')!
  if (kind.missing) return console.log(`first-increment is not measured: ${kind.missing}.`)
  await serveSwift()
  try {
    await using store = await kind.start()
    await store.put('rows/0.csv', await readFile(await writeRows(context.folder)))
    // Autovacuum processes a new table of this size for seconds, whatever loads come next.
    await setAutovacuum(context.peers, 'off')
    yield await measureIncrements(context, store)
  } finally {
    await setAutovacuum(context.peers, 'on')
    await stopSwift()
  }
}

async function measureIncrements({ installation, peers }: BenchContext, store: TestStore): Promise<MeasureReport> {
  const { settings, secrets } = store.reading('rows/')
  const source = { ...(settings as { objectStoreSource: object }).objectStoreSource, ...secrets }
  const pipeline = await createLoadedPipeline(installation, {
    name: 'first_increment',
    type: 'OBJECT_STORAGE_BUCKET',
    settings: { ...(settings as object), objectStoreSource: source },
  })
  const measureServer = await serverMeter(peers)
  const measureRun = async (mode: 'FULL' | 'INCREMENTAL') =>
    (await measureServer(() => runAndWait(installation, pipeline, { mode }))) / 1000
  const full = await measureRun('FULL')
  const used: number[] = []
  for (let number = 1; number <= increments; number++) {
    await store.put(`rows/${number}.csv`, `id,name,amount\n${rows(number * tableRows, incrementRows)}`)
    used.push(await measureRun('INCREMENTAL'))
  }
  const limitOf = (increment: number): Target => ({
    text: `increment ${increment} of ${incrementRows} rows`,
    value: used[increment - 1]!,
    limit: increment === 1 ? 4 : 0.1,
    unit: 's',
  })
  return {
    title: `Increments into ${tableRows.toLocaleString('en')} rows, processor time of PostgreSQL (full load: ${full.toFixed(2)} s)`,
    figures: [],
    targets: used.map((_, index) => limitOf(index + 1)),
  }
}

function rows(first: number, count: number): string {
  let text = ''
  for (let id = first; id < first + count; id++) text += `${id},n${id % 1_000},${id % 100_000}\n`
  return text
}

/** Writes a CSV file with the rows of the full load. Returns its path. */
async function writeRows(folder: string): Promise<string> {
  const path = join(folder, `increments-${tableRows}.csv`)
  await mkdir(folder, { recursive: true })
  const file = createWriteStream(path)
  file.write('id,name,amount\n')
  for (let first = 0; first < tableRows; first += 10_000)
    if (!file.write(rows(first, 10_000))) await once(file, 'drain')
  file.end()
  await once(file, 'finish')
  return path
}
