import type { SourceBody } from '@sluice/contracts'
import { findPreviousDialect } from '@sluice/file-formats/csv/find-previous-dialect'
import type { FileOptions } from '@sluice/file-formats/upload/read-upload'
import { backgroundRetry, interactiveRetry, retry, type RetryPolicy } from '@sluice/http-client'
import { columnsOfPreviousLoad } from '@sluice/row-stream'
import type { Connector, ConnectorContext, ReadRequest, SourceOption } from '../connector.ts'
import { omitOwnColumns } from './many-objects/combined-table.ts'
import type { ObjectStore } from './object-store.ts'
import { describeObjectRows } from './describe-object-rows.ts'
import { previewObjects } from './preview-objects.ts'
import type { DownloadLimits } from './download-object.ts'
import type { ObjectReading } from './read-object.ts'
import { type ObjectIncrement, type ObjectsRequest, findIncrement, readIncrement, readObjects } from './read-objects.ts'
import { readNewObjects } from './read-new-objects.ts'
import { selectObjects } from './select-objects.ts'
import { createStoreClient, type StoreClient } from './store-client.ts'

export interface StoreContext extends ConnectorContext {
  limits?: DownloadLimits
}

/** The API's names for the two kinds of options of a store. */
interface StoreOptionKinds {
  containers: string
  objects: string
}

/** Idle time limits in milliseconds: for runs, and for requests for which a user waits. */
const backgroundIdleTimeoutMs = 60_000
const interactiveIdleTimeoutMs = 12_000
/** The time limit for the search for changed objects, in milliseconds. */
const incrementTimeoutMs = 60_000

/** The maximum number of listed options. */
const maxOptions = 1_000

/** Creates a connector that reads the files of a bucket or container. */
export function createObjectStoreConnector(
  openStore: (request: ReadRequest, client: StoreClient) => ObjectStore,
  optionKinds: StoreOptionKinds,
  { filesDirectory, allowed, retryPolicy: backgroundPolicy = backgroundRetry, limits }: StoreContext,
): Connector {
  const open = (request: ReadRequest, idleTimeoutMs: number) =>
    openStore(request, createStoreClient(allowed, idleTimeoutMs))
  const readingOf = (request: ReadRequest, store: ObjectStore, retryPolicy: RetryPolicy): ObjectReading => ({
    store,
    filesDirectory,
    options: createFileOptions(request),
    columnsBefore: omitOwnColumns(columnsOfPreviousLoad(request.previousShape)),
    retryPolicy,
    ...(limits && { limits }),
  })
  // Keeps the changes that `canReadIncrement` found for `read`, because the caller merges rows only of these changes.
  const increments = new WeakMap<ReadRequest, ObjectIncrement>()

  return {
    async canReadIncrement(request) {
      await using store = open(request, interactiveIdleTimeoutMs)
      try {
        const reading = readingOf(request, store, interactiveRetry)
        const increment = await findIncrement(
          reading,
          createObjectsRequest(request),
          AbortSignal.timeout(incrementTimeoutMs),
        )
        if (increment) increments.set(request, increment)
        return increment !== undefined
      } catch {
        // Ignores the error: the following full read meets it again, retries for longer, and reports it.
        return false
      }
    },
    getCursorKind: async () => 'OPAQUE',
    async *read(request, report, signal) {
      await using store = open(request, backgroundIdleTimeoutMs)
      const increment = increments.get(request)
      const reading = readingOf(request, store, backgroundPolicy)
      if (readsOnlyNew(request)) yield* readNewObjects(reading, createObjectsRequest(request), report, signal)
      else if (increment) yield* readIncrement(reading, request.settings, increment, report, signal)
      else yield* readObjects(reading, createObjectsRequest(request), report, signal)
    },
    async testConnection(request, signal) {
      await using store = open(request, interactiveIdleTimeoutMs)
      const { key } = createObjectsRequest(request)
      await selectObjects({ store, key, retryPolicy: interactiveRetry, maxResults: 1 }, signal)
    },
    async listOptions(kind, request, signal) {
      if (kind !== optionKinds.containers && kind !== optionKinds.objects) return undefined
      await using store = open(request, interactiveIdleTimeoutMs)
      return kind === optionKinds.containers
        ? await listContainerOptions(store, request, signal)
        : await listObjectOptions(store, request, signal)
    },
    async preview(request, rows, signal) {
      await using store = open(request, interactiveIdleTimeoutMs)
      const reading = readingOf(request, store, interactiveRetry)
      return await previewObjects(reading, createObjectsRequest(request).key, rows, signal)
    },
    async describeKeyRows(request, duplicate, signal) {
      await using store = open(request, backgroundIdleTimeoutMs)
      const reading = readingOf(request, store, backgroundPolicy)
      return await describeObjectRows(reading, createObjectsRequest(request).key, duplicate, signal)
    },
  }
}

type StoreSettings = Extract<SourceBody, { type: 'OBJECT_STORAGE_BUCKET' | 'CLOUD_BLOB_STORAGE' }>

const readsOnlyNew = ({ writeMode }: ReadRequest): boolean => writeMode === 'APPEND' || writeMode === 'MERGE'

function createObjectsRequest(request: ReadRequest): ObjectsRequest {
  const { settings, cursor, mode, reset, writeMode } = request
  const { key } = settings as StoreSettings
  const needsCursor = mode === 'INCREMENTAL' || readsOnlyNew(request)
  return { key, settings, ...(writeMode && { writeMode }), ...(needsCursor && !reset && { cursor }) }
}

/**
 * Returns the file reader's options. In object stores, the delimiter is a separate setting; formats other than CSV
 * ignore it.
 */
function createFileOptions(request: ReadRequest): FileOptions {
  const { settings, previousShape, mode } = request
  const { csvOptions, delimiter } = settings as StoreSettings
  const lastDialect = findPreviousDialect(previousShape, { keepsRows: readsOnlyNew(request) || mode === 'INCREMENTAL' })
  return { ...csvOptions, delimiter, ...(lastDialect && { previousDialect: lastDialect }) }
}

/** Lists the buckets or containers of the account as options. */
async function listContainerOptions(
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
 * Lists the folders and then the objects in the folder `within`. If `within` does not end with a slash, it is the
 * start of the keys. The id of an option is a valid `key` setting of a pipeline.
 */
async function listObjectOptions(
  store: ObjectStore,
  { query = '', within: prefix = '' }: ReadRequest,
  signal: AbortSignal,
): Promise<SourceOption[]> {
  const options: SourceOption[] = []
  for await (const { folders, objects } of readPages((page) => store.listFolder(prefix, page, signal), signal)) {
    // Excludes the empty object with the folder's own key, which consoles create.
    const keys = objects.map(({ key }) => key).filter((key) => key !== prefix)
    if (collect(options, query, [...folders, ...keys].map(toObjectOption))) break
  }
  const getSortRank = ({ id }: SourceOption) => (id.endsWith('/') ? 0 : 1)
  return options.toSorted((one, other) => getSortRank(one) - getSortRank(other))
}

/** Adds the options with the query in their names. Returns true if there are enough. */
function collect(options: SourceOption[], query: string, collected: readonly SourceOption[]): boolean {
  const searchText = query.toLowerCase()
  options.push(...collected.filter(({ name }) => name.toLowerCase().includes(searchText)))
  options.splice(maxOptions)
  return options.length === maxOptions
}

async function* readPages<Page extends { next: string | undefined }>(
  readPage: (page: string | undefined) => Promise<Page>,
  signal: AbortSignal,
): AsyncGenerator<Page, void, void> {
  let next: string | undefined
  do {
    const page = await retry(() => readPage(next), { policy: interactiveRetry, signal })
    yield page
    // Ends the listing if a store returns the same page token again, because the loop would never end.
    next = page.next === next ? undefined : page.next
  } while (next)
}

const toContainerOption = (name: string): SourceOption => ({ id: name, code: name, name })

function toObjectOption(key: string): SourceOption {
  const name = /[^/]+\/?$/.exec(key)?.[0] ?? key
  return { id: key, code: name, name }
}
