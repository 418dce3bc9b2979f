import { interactiveRetry, retry } from '@sluice/http-client'
import type { ReadRequest, SourceOption } from '../connector.ts'
import type { ObjectStore } from './object-store.ts'

/** The names of the two kinds of options in the API. */
export interface StoreOptionKinds {
  containers: string
  objects: string
}

/** More options than this are not listed. */
const maxOptions = 1_000

/** Lists the buckets or containers of the account. */
export async function listContainerOptions(
  store: ObjectStore,
  { query = '' }: ReadRequest,
  signal: AbortSignal,
): Promise<SourceOption[]> {
  const options: SourceOption[] = []
  for await (const { names } of readPages((page) => store.listContainers(page, signal), signal))
    if (collect(options, query, names.map(toContainerOption))) break
  return options
}

/**
 * Lists the folders and objects in the folder `within`, the folders first. `within` need not end with a slash: then it is the start of
 * the keys. The id of an option is a valid `key` of a pipeline.
 */
export async function listObjectOptions(
  store: ObjectStore,
  { query = '', within: prefix = '' }: ReadRequest,
  signal: AbortSignal,
): Promise<SourceOption[]> {
  const options: SourceOption[] = []
  for await (const { folders, objects } of readPages((page) => store.listFolder(prefix, page, signal), signal)) {
    // Consoles create an empty object with the key of a folder.
    const keys = objects.map(({ key }) => key).filter((key) => key !== prefix)
    if (collect(options, query, [...folders, ...keys].map(toObjectOption))) break
  }
  const rank = ({ id }: SourceOption) => (id.endsWith('/') ? 0 : 1)
  return options.toSorted((one, other) => rank(one) - rank(other))
}

/** Adds the options whose name contains the query. Returns whether there are enough. */
function collect(options: SourceOption[], query: string, found: readonly SourceOption[]): boolean {
  const wanted = query.toLowerCase()
  options.push(...found.filter(({ name }) => name.toLowerCase().includes(wanted)))
  options.splice(maxOptions)
  return options.length === maxOptions
}

async function* readPages<Page extends { next: string | undefined }>(
  read: (page: string | undefined) => Promise<Page>,
  signal: AbortSignal,
): AsyncGenerator<Page, void, void> {
  let next: string | undefined
  do {
    const page = await retry(() => read(next), { policy: interactiveRetry, signal })
    yield page
    // A store that returns the same page again would cause an endless loop.
    next = page.next === next ? undefined : page.next
  } while (next)
}

const toContainerOption = (name: string): SourceOption => ({ id: name, code: name, name })

function toObjectOption(key: string): SourceOption {
  const name = /[^/]+\/?$/.exec(key)?.[0] ?? key
  return { id: key, code: name, name }
}
