import type { SourceBody } from '@sluice/contracts'
import { findPreviousDialect } from '@sluice/file-formats/csv/find-previous-dialect'
import type { FileOptions } from '@sluice/file-formats/upload/read-upload'
import { backgroundRetry, interactiveRetry, retry, type RetryPolicy } from '@sluice/http-client'
import { columnsOfPreviousLoad } from '@sluice/row-stream'
import type { Connector, ConnectorContext, ReadRequest, SourceOption } from '../connector.ts'
import { omitObjectColumns } from './many-objects/combined-table.ts'
import type { ObjectStore } from './object-store.ts'
import { describeObjectRows } from './describe-object-rows.ts'
import { previewObjects } from './preview-objects.ts'
import type { DownloadLimits } from './download-object.ts'
import type { ObjectReadContext } from './read-object.ts'
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

/** Idle time limits in milliseconds, for runs and for requests for which a user waits. */
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
  const createReadContext = (
    request: ReadRequest,
    store: ObjectStore,
    retryPolicy: RetryPolicy,
  ): ObjectReadContext => ({
    store,
    filesDirectory,
    options: createFileOptions(request),
    previousColumns: omitObjectColumns(columnsOfPreviousLoad(request.previousShape)),
    retryPolicy,
    ...(limits && { limits }),
  })
  // Keeps the changes that `canReadIncrement` found for `read`, because the caller merges rows only of these changes.
  const increments = new WeakMap<ReadRequest, ObjectIncrement>()

  return {
    async canReadIncrement(request) {
      await using store = open(request, interactiveIdleTimeoutMs)
      try {
        const context = createReadContext(request, store, interactiveRetry)
        const signal = AbortSignal.timeout(incrementTimeoutMs)
        const increment = await findIncrement(context, createObjectsRequest(request), signal)
        if (increment) increments.set(request, increment)
        return increment !== undefined
      } catch {
        // Ignores the error: if it persists, the following full read retries for longer and reports it.
        return false
      }
    },
    getCursorKind: async () => 'OPAQUE',
    async *read(request, report, signal) {
      await using store = open(request, backgroundIdleTimeoutMs)
      const increment = increments.get(request)
      const context = createReadContext(request, store, backgroundPolicy)
      if (readsOnlyNewObjects(request)) yield* readNewObjects(context, createObjectsRequest(request), report, signal)
      else if (increment) yield* readIncrement(context, request.settings, increment, report, signal)
      else yield* readObjects(context, createObjectsRequest(request), report, signal)
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
      const context = createReadContext(request, store, interactiveRetry)
      return await previewObjects(context, createObjectsRequest(request).key, rows, signal)
    },
    async describeKeyRows(request, keyRows, signal) {
      await using store = open(request, backgroundIdleTimeoutMs)
      const context = createReadContext(request, store, backgroundPolicy)
      return await describeObjectRows(context, createObjectsRequest(request).key, keyRows, signal)
    },
  }
}

type StoreSettings = Extract<SourceBody, { type: 'OBJECT_STORAGE_BUCKET' | 'CLOUD_BLOB_STORAGE' }>

const readsOnlyNewObjects = ({ writeMode }: ReadRequest): boolean => writeMode === 'APPEND' || writeMode === 'MERGE'

/** Returns the settings of a read. A full read and a read after a reset have no cursor. */
function createObjectsRequest(request: ReadRequest): ObjectsRequest {
  const { settings, cursor, mode, reset, writeMode } = request
  const { key } = settings as StoreSettings
  const needsCursor = mode === 'INCREMENTAL' || readsOnlyNewObjects(request)
  return { key, settings, ...(writeMode && { writeMode }), ...(needsCursor && !reset && { cursor }) }
}

/**
 * Returns the file reader's options. In object stores, the delimiter is a separate setting; formats other than CSV
 * ignore it.
 */
function createFileOptions(request: ReadRequest): FileOptions {
  const { settings, previousShape, mode } = request
  const { csvOptions, delimiter } = settings as StoreSettings
  const keepsRows = readsOnlyNewObjects(request) || mode === 'INCREMENTAL'
  const previousDialect = findPreviousDialect(previousShape, { keepsRows })
  return { ...csvOptions, delimiter, ...(previousDialect && { previousDialect }) }
}

/** Lists the buckets or containers of the account as options. */
async function listContainerOptions(
  store: ObjectStore,
  { query = '' }: ReadRequest,
  signal: AbortSignal,
): Promise<SourceOption[]> {
  const options: SourceOption[] = []
  for await (const { names } of readPages((page) => store.listContainers(page, signal), signal)) {
    addMatchingOptions(options, query, names.map(toContainerOption))
    if (options.length >= maxOptions) break
  }
  return options.slice(0, maxOptions)
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
    addMatchingOptions(options, query, [...folders, ...keys].map(toObjectOption))
    if (options.length >= maxOptions) break
  }
  const listedOptions = options.slice(0, maxOptions)
  const isFolder = ({ id }: SourceOption) => id.endsWith('/')
  return [...listedOptions.filter(isFolder), ...listedOptions.filter((option) => !isFolder(option))]
}

/** Adds the new options that have the query in their names. */
function addMatchingOptions(options: SourceOption[], query: string, newOptions: readonly SourceOption[]): void {
  const searchText = query.toLowerCase()
  options.push(...newOptions.filter(({ name }) => name.toLowerCase().includes(searchText)))
}

/** Yields the pages of a list. `readPage` receives the token of the page, which is undefined for the first one. */
async function* readPages<Page extends { next: string | undefined }>(
  readPage: (token: string | undefined) => Promise<Page>,
  signal: AbortSignal,
): AsyncGenerator<Page, void, void> {
  let token: string | undefined
  do {
    const page = await retry(() => readPage(token), { policy: interactiveRetry, signal })
    yield page
    // Ends the listing if a store returns the same page token again, because the loop would never end.
    token = page.next === token ? undefined : page.next
  } while (token)
}

const toContainerOption = (name: string): SourceOption => ({ id: name, code: name, name })

function toObjectOption(key: string): SourceOption {
  const name = /[^/]+\/?$/.exec(key)?.[0] ?? key
  return { id: key, code: name, name }
}
