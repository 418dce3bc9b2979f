import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AwsV4Signer } from 'aws4fetch'
import { sasToken } from '../../../packages/connectors/src/object-store/test/azurite.ts'
import type { KindOfStore, TestStore } from '../../../packages/connectors/src/object-store/test/test-stores.ts'
import { measureCommand } from '../../load/loaders/command.ts'
import { createSluiceLoader } from '../../load/loaders/sluice.ts'
import { headerOf, tableKinds, makeFile } from '../../load/data-files.ts'
import { runOn } from '../../load/database.ts'
import { readContent } from '../../load/table-content.ts'
import { compare, type SourceResult, type BenchContext, type Reference } from './measure.ts'
import { rawDownload } from '../raw-transfer.ts'

/** The number of small objects that the raw download fetches in parallel. */
const concurrency = 8
const lineEnd = 10

/** Measures one large object and a folder of many small ones against plain GETs. */
export async function* objects(context: BenchContext, kind: KindOfStore, reference: () => Promise<Reference>) {
  if (kind.missing) return console.log(`${kind.name} is not measured: ${kind.missing}.`)
  await using store = await kind.start()
  yield await oneObject(context, kind, store, await reference())
  yield await folder(context, kind, store)
}

async function oneObject(context: BenchContext, kind: KindOfStore, store: TestStore, { file, expected }: Reference) {
  await store.put('wide.csv', await readFile(file.path))
  const name = `one_${kind.type.toLowerCase()}`
  const sluice = await createSluiceLoader(context.installation, {
    name,
    type: kind.type,
    settings: requestSettings(store, 'wide.csv'),
  })
  const raw = rawDownload(await writeSignedRequests(context, store, name, ['wide.csv']), 1)
  return compare(context, { type: kind.type, what: `${kind.name}, one object of CSV`, raw, sluice, expected })
}

async function folder(context: BenchContext, kind: KindOfStore, store: TestStore): Promise<SourceResult> {
  // The narrow rows contain no line breaks in values, so every line end separates two rows.
  const file = await makeFile(context.folder, 'narrow', Math.ceil(context.megabytes / 10))
  const names = tableKinds.narrow.columns.map((column) => column.split(' ')[0]!)
  const values = `row(${names.map((column) => `t.${column}`).join(', ')})::text`
  await runOn(
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
  const settings = requestSettings(store, 'parts/')
  const sluice = await createSluiceLoader(context.installation, { name, type: kind.type, settings, values })
  const raw = rawDownload(await writeSignedRequests(context, store, name, keys), concurrency)
  return compare(context, {
    type: kind.type,
    what: `${kind.name}, ${keys.length} objects of CSV`,
    raw,
    sluice,
    expected,
  })
}

/** Splits the rows into at most this many objects with a header each. Returns their keys. */
async function putPieces(store: TestStore, path: string, count: number): Promise<string[]> {
  const bytes = (await readFile(path)).subarray(headerOf(tableKinds.narrow).length)
  const header = Buffer.from(headerOf(tableKinds.narrow))
  const keys: string[] = []
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(lineEnd, from + Math.ceil(bytes.length / count)) + 1
    const to = end === 0 ? bytes.length : end
    const key = `parts/${String(keys.length).padStart(6, '0')}.csv`
    await store.put(key, Buffer.concat([header, bytes.subarray(from, to)]))
    keys.push(key)
    from = to
  }
  return keys
}

/** Returns the settings of a request body, with the access keys included. */
function requestSettings(store: TestStore, key: string): object {
  const { settings, secrets } = store.reading(key)
  const [place = ''] = Object.keys(settings as object).filter((field) => field.endsWith('Source'))
  const source = { ...(settings as Record<string, object>)[place], ...secrets }
  return { ...(settings as object), [place]: source }
}

/** Writes the list of requests for `rawDownload`, with signed URLs. */
async function writeSignedRequests(
  context: BenchContext,
  store: TestStore,
  name: string,
  keys: string[],
): Promise<string> {
  const exchanges = await Promise.all(
    keys.map(async (key) => ({ method: 'GET', url: await signed(store, key), headers: {} })),
  )
  const file = join(context.folder, `${name}.json`)
  await writeFile(file, JSON.stringify(exchanges))
  return file
}

async function signed(store: TestStore, key: string): Promise<string> {
  const { settings, secrets } = store.reading(key)
  const { accessKey, secretKey } = secrets
  const { objectStoreSource } = settings as { objectStoreSource?: { bucket: string } }
  const bucket = objectStoreSource?.bucket ?? 'cases'
  const url = `${store.endpoint}/${bucket}/${key}`
  if (accessKey === undefined || secretKey === undefined) return `${url}?${sasToken(bucket)}`
  const keys = { accessKeyId: accessKey, secretAccessKey: secretKey, service: 's3', region: 'eu-west-1' }
  return (await new AwsV4Signer({ method: 'GET', url, signQuery: true, ...keys }).sign()).url.href
}
