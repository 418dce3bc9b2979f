import { readFile } from 'node:fs/promises'
import type {
  KindOfStore,
  TestStore,
} from '../../packages/connectors/src/object-store/test/object-stores-under-test.ts'
import { serveSwift, stopSwift } from '../../packages/testing/src/shared-openstack-swift.ts'
import { headerOf, tableKinds } from './data-files.ts'

const lineEnd = 10

/**
 * Splits the narrow rows of a CSV file into at most `count` objects with a header each, with keys that begin with
 * `prefix`. Returns their keys.
 */
export async function putPieces(store: TestStore, path: string, count: number, prefix = 'parts/'): Promise<string[]> {
  const header = Buffer.from(headerOf(tableKinds.narrow))
  // The narrow rows contain no line breaks in values, so every line end separates two rows.
  const bytes = (await readFile(path)).subarray(header.length)
  const keys: string[] = []
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(lineEnd, from + Math.ceil(bytes.length / count)) + 1
    const to = end === 0 ? bytes.length : end
    const key = `${prefix}${String(keys.length).padStart(6, '0')}.csv`
    await store.put(key, Buffer.concat([header, bytes.subarray(from, to)]))
    keys.push(key)
    from = to
  }
  return keys
}

/** Returns the settings of a pipeline that reads this key, with the access keys included. */
export function objectSettings(store: TestStore, key: string): object {
  const { settings, secrets } = store.reading(key)
  const [field = ''] = Object.keys(settings as object).filter((name) => name.endsWith('Source'))
  const source = { ...(settings as Record<string, object>)[field], ...secrets }
  return { ...(settings as object), [field]: source }
}

export interface RunningStore extends AsyncDisposable {
  kind: KindOfStore
  store: TestStore
}

/** Starts a store. Prints why and returns undefined if its server is not installed. */
export async function startStore(type: KindOfStore['type']): Promise<RunningStore | undefined> {
  // This module checks for installed programs when it is imported.
  const { kindsOfStores } = await import('../../packages/connectors/src/object-store/test/object-stores-under-test.ts')
  const kind = kindsOfStores.find((each) => each.type === type)!
  if (kind.missing) {
    console.log(`${kind.name} is not measured: ${kind.missing}.`)
    return undefined
  }
  await using started = new AsyncDisposableStack()
  // As under Jest, the Swift that the S3 store uses is shared.
  await serveSwift()
  started.defer(stopSwift)
  const store = started.use(await kind.start())
  const resources = started.move()
  return { kind, store, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}
