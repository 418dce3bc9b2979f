import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AwsV4Signer } from 'aws4fetch'
import { sasToken } from '../../../packages/connectors/src/object-store/test/azurite.ts'
import type { TestStore } from '../../../packages/connectors/src/object-store/test/object-stores-under-test.ts'
import { median } from '../../statistics.ts'
import { measureCommand } from '../../load/loaders/measure-command.ts'
import { createLoadedPipeline, createSluiceLoader, runAndWait } from '../../load/loaders/sluice-loader.ts'
import { createDataFile, type TableKind, tableKinds } from '../../load/data-files.ts'
import { executeSql } from '../../load/database.ts'
import { objectSettings, putPieces, type RunningStore } from '../../load/object-folder.ts'
import type { Target } from '../../load/measures/measure.ts'
import { readProcessorTime } from '../../load/processor-time.ts'
import { readContent } from '../../load/table-content.ts'
import { compare, type SourceResult, type BenchContext, type Reference } from './measure.ts'
import { type RawTransfer, rawDownload } from '../raw-transfer.ts'

/** The number of small objects that the raw download fetches in parallel. */
const concurrency = 8

/**
 * Measures one large object and a folder of many small ones against plain GETs, and a folder of the large one against
 * an upload.
 */
export async function* objects(context: BenchContext, running: RunningStore, reference: Reference) {
  yield await oneObject(context, running, reference)
  yield await folderOfOneObject(context, running, reference)
  yield await folder(context, running)
}

const largeKey = 'large/wide.csv'

async function oneObject(context: BenchContext, { kind, store }: RunningStore, { file, expected }: Reference) {
  await store.put(largeKey, await readFile(file.path))
  const name = `one_${kind.type.toLowerCase()}`
  const sluice = await createSluiceLoader(context.installation, {
    name,
    type: kind.type,
    settings: objectSettings(store, largeKey),
  })
  const raw = rawDownload(await writeSignedRequests(context, store, name, [largeKey]), 1)
  return compare(context, { type: kind.type, label: `${kind.name}, one object of CSV`, raw, sluice, expected })
}

/** Compares a folder of one large object with an upload of the same file, its transfer to the API included. */
async function folderOfOneObject(
  context: BenchContext,
  { kind, store }: RunningStore,
  { file, expected }: Reference,
): Promise<SourceResult> {
  const name = `large_${kind.type.toLowerCase()}`
  const sluice = await createSluiceLoader(context.installation, {
    name,
    type: kind.type,
    settings: objectSettings(store, 'large/'),
    // The table also has columns that identify the object.
    values: rowExpression(tableKinds.wide),
  })
  const { upload, processorMs } = createUpload(context, `${name}_upload`, file)
  const label = `${kind.name}, a folder of one large object, against an upload`
  const result = await compare(context, { type: kind.type, label, raw: upload, sluice, expected })
  const uploadMs = median(processorMs)
  const targets: Target[] = [
    { text: 'time', value: result.sluice.milliseconds / result.raw.milliseconds, limit: 1.3, unit: '×' },
    {
      text: `processor time of the worker (${result.workerMs} ms) / of worker and API with the upload (${uploadMs} ms)`,
      value: result.workerMs / uploadMs,
      limit: 1.3,
      unit: '×',
    },
  ]
  return { ...result, targets }
}

/**
 * Uploads a file to a new pipeline and runs it. `processorMs` has the processor time of the API and the worker for each
 * upload.
 */
function createUpload({ installation }: BenchContext, name: string, file: Reference['file']) {
  const processorMs: number[] = []
  const used = async () =>
    (await readProcessorTime(installation.apiPid)) + (await readProcessorTime(installation.workerPid))
  const upload: RawTransfer = {
    name: 'upload',
    bytes: () => file.size,
    async load() {
      const [startedAt, before] = [performance.now(), await used()]
      const source = { name: `${name}_${processorMs.length}`, type: 'CSV_UPLOAD', file }
      await runAndWait(installation, await createLoadedPipeline(installation, source))
      processorMs.push((await used()) - before)
      return { milliseconds: performance.now() - startedAt, memory: 0 }
    },
  }
  return { upload, processorMs }
}

/** SQL expression of the columns of a table kind in a row of table `t`. */
const rowExpression = ({ columns }: TableKind): string =>
  `row(${columns.map((column) => `t.${column.split(' ')[0]}`).join(', ')})::text`

async function folder(context: BenchContext, { kind, store }: RunningStore): Promise<SourceResult> {
  const file = await createDataFile(context.folder, 'narrow', Math.ceil(context.megabytes / 10))
  const values = rowExpression(tableKinds.narrow)
  await executeSql(
    context.peers,
    `drop table if exists narrow; create table narrow (${tableKinds.narrow.columns.join(', ')})`,
  )
  await measureCommand(
    `psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy narrow from '${file.path}' with (format csv, header)"`,
    { URL: context.peers },
  )
  const expected = await readContent({ database: context.peers, table: 'narrow', values })
  const keys = await putPieces(store, file.path, context.objects)
  const name = `folder_${kind.type.toLowerCase()}`
  const settings = objectSettings(store, 'parts/')
  const sluice = await createSluiceLoader(context.installation, { name, type: kind.type, settings, values })
  const raw = rawDownload(await writeSignedRequests(context, store, name, keys), concurrency)
  const label = `${kind.name}, ${keys.length} objects of CSV`
  const result = await compare(context, { type: kind.type, label, raw, sluice, expected })
  const targets: Target[] = [
    { text: 'processor time of the worker', value: result.workerMs / 1000, limit: 1.5, unit: 's' },
    { text: `time / ${raw.name}`, value: result.sluice.milliseconds / result.raw.milliseconds, limit: 2, unit: '×' },
  ]
  return { ...result, targets }
}

/** Writes the list of requests for `rawDownload`, with signed URLs. */
async function writeSignedRequests(
  context: BenchContext,
  store: TestStore,
  name: string,
  keys: string[],
): Promise<string> {
  const exchanges = await Promise.all(
    keys.map(async (key) => ({ method: 'GET', url: await signUrl(store, key), headers: {} })),
  )
  const file = join(context.folder, `${name}.json`)
  await writeFile(file, JSON.stringify(exchanges))
  return file
}

async function signUrl(store: TestStore, key: string): Promise<string> {
  const { settings, secrets } = store.reading(key)
  const { accessKey, secretKey } = secrets
  const { objectStoreSource } = settings as { objectStoreSource?: { bucket: string } }
  const bucket = objectStoreSource?.bucket ?? 'cases'
  const url = `${store.endpoint}/${bucket}/${key}`
  if (accessKey === undefined || secretKey === undefined) return `${url}?${sasToken(bucket)}`
  const keys = { accessKeyId: accessKey, secretAccessKey: secretKey, service: 's3', region: 'eu-west-1' }
  return (await new AwsV4Signer({ method: 'GET', url, signQuery: true, ...keys }).sign()).url.href
}
