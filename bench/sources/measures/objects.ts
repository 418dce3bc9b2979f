import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AwsV4Signer } from 'aws4fetch'
import { sasToken } from '../../../packages/connectors/src/object-store/test/azurite.ts'
import type { KindOfStore, TestStore } from '../../../packages/connectors/src/object-store/test/stores.ts'
import { measureCommand } from '../../load/contenders/command.ts'
import { product } from '../../load/contenders/product.ts'
import { headerOf, kinds } from '../../load/data/kinds.ts'
import { makeFile } from '../../load/data/make-file.ts'
import { runOn } from '../../load/database.ts'
import { contentOf } from '../../load/verify.ts'
import { compare, type Line, type Parts } from '../line.ts'
import { rawDownload } from '../raw.ts'
import type { Reference } from '../reference.ts'

/** As many as the product fetches ahead. */
const atOnce = 4
const lineEnd = 10

/** One large object, and a folder of many small ones, against fetching the same by plain GETs. */
export async function* objects(parts: Parts, kind: KindOfStore, reference: () => Promise<Reference>) {
  if (kind.missing) return console.log(`${kind.name} is not measured: ${kind.missing}.`)
  await using store = await kind.start()
  yield await oneObject(parts, kind, store, await reference())
  yield await folder(parts, kind, store)
}

async function oneObject(parts: Parts, kind: KindOfStore, store: TestStore, { file, expected }: Reference) {
  await store.put('wide.csv', await readFile(file.path))
  const name = `one_${kind.type.toLowerCase()}`
  const own = await product(parts.installation, { name, type: kind.type, settings: given(store, 'wide.csv') })
  const raw = rawDownload(await listed(parts, store, name, ['wide.csv']), 1)
  return compare(parts, { type: kind.type, what: `${kind.name}, one object of CSV`, raw, own, expected })
}

async function folder(parts: Parts, kind: KindOfStore, store: TestStore): Promise<Line> {
  // No line breaks within its values, so it is cut anywhere between lines.
  const file = await makeFile(parts.folder, 'narrow', Math.ceil(parts.megabytes / 10))
  const names = kinds.narrow.columns.map((column) => column.split(' ')[0]!)
  const values = `row(${names.map((column) => `t.${column}`).join(', ')})::text`
  await runOn(parts.peers, `drop table if exists narrow; create table narrow (${kinds.narrow.columns.join(', ')})`)
  await measureCommand(
    `psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy narrow from '${file.path}' with (format csv, header)"`,
    { URL: parts.peers },
  )
  const expected = await contentOf({ database: parts.peers, table: 'narrow', values })
  const keys = await putPieces(store, file.path, parts.objects)
  const name = `folder_${kind.type.toLowerCase()}`
  const settings = given(store, 'parts/')
  const own = await product(parts.installation, { name, type: kind.type, settings, values })
  const raw = rawDownload(await listed(parts, store, name, keys), atOnce)
  return compare(parts, { type: kind.type, what: `${kind.name}, ${keys.length} objects of CSV`, raw, own, expected })
}

/** The rows in so many objects at most, each with its header. */
async function putPieces(store: TestStore, path: string, count: number): Promise<string[]> {
  const bytes = (await readFile(path)).subarray(headerOf(kinds.narrow).length)
  const header = Buffer.from(headerOf(kinds.narrow))
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

/** A body, with the keys where it has them. */
function given(store: TestStore, key: string): object {
  const { settings, secrets } = store.reading(key)
  const [place = ''] = Object.keys(settings as object).filter((field) => field.endsWith('Source'))
  const source = { ...(settings as Record<string, object>)[place], ...secrets }
  return { ...(settings as object), [place]: source }
}

/** A file for `rawDownload`, of addresses that anybody may get these objects at. */
async function listed(parts: Parts, store: TestStore, name: string, keys: string[]): Promise<string> {
  const exchanges = await Promise.all(
    keys.map(async (key) => ({ method: 'GET', url: await signed(store, key), headers: {} })),
  )
  const file = join(parts.folder, `${name}.json`)
  await writeFile(file, JSON.stringify(exchanges))
  return file
}

async function signed(store: TestStore, key: string): Promise<string> {
  const url = `${store.endpoint}/cases/${key}`
  const { accessKey, secretKey } = store.reading(key).secrets
  if (accessKey === undefined || secretKey === undefined) return `${url}?${sasToken('cases')}`
  const keys = { accessKeyId: accessKey, secretAccessKey: secretKey, service: 's3', region: 'eu-west-1' }
  return (await new AwsV4Signer({ method: 'GET', url, signQuery: true, ...keys }).sign()).url.href
}
