import { type PublicData, type PublicDataQuery, type PublicMetadata, pipelineOperations } from '@sluice/contracts'
import { type FileDownload, JsonResponse, type OperationInput, problems } from '@sluice/http-server'
import { splitIpAddress } from '@sluice/process'
import { translateRowProperty, isUid } from '@sluice/records'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { findLastRuns } from '../../runs/read-runs.ts'
import type { TablePlace, Warehouse, WarehouseColumn, WarehouseTable } from '@sluice/warehouses/warehouse'
import { type ExportableRows, type ExportChoice, exportFile } from '../../exports/export-file.ts'
import { chooseExport, pageTooLargeProblem, startWithTimeout } from '../read-table-page.ts'
import { findLoadedTable } from '../data-pipelines/loaded-table.ts'
import { requestSlots } from '../concurrency-limits.ts'
import type { DataPipelineRow } from '../data-pipelines/records.ts'
import { type PipelineContext, definePipelineOperation } from '../operation-context.ts'
import { findBuiltView } from '../views/operations.ts'
import type { ViewRow } from '../views/records.ts'
import { createResponseCache } from './response-cache.ts'

/** The rate limit of one network: requests per minute, and in one burst. */
const perMinute = 300
const burstSize = 100
/** The maximum number of networks in memory. The ones seen longest ago are removed first. */
const maxNetworks = 20_000

interface TokenBucket {
  tokens: number
  updatedAt: number
}

/**
 * Returns a rate limiter with a token bucket per network: bursts of 100 requests, 300 requests per minute. Each process
 * counts separately. IPv6 addresses count by their /64 network, because a subscriber usually has all of its addresses.
 */
export function createNetworkRateLimit(now: () => number = Date.now) {
  const buckets = new Map<string, TokenBucket>()

  /** Counts a request. Throws 429 with the seconds to wait if the bucket is empty. */
  return (address: string): void => {
    const key = parseNetwork(address)
    const tokens = refillTokens(buckets.get(key), now())
    // Deleting and adding the key moves it to the end of the map. The first key is thus the one seen longest ago.
    buckets.delete(key)
    buckets.set(key, { tokens: Math.max(0, tokens - 1), updatedAt: now() })
    if (buckets.size > maxNetworks) buckets.delete(buckets.keys().next().value!)
    if (tokens >= 1) return
    const missingTokens = 1 - tokens
    const seconds = Math.ceil((missingTokens / perMinute) * 60)
    throw problems.tooManyRequests(
      seconds,
      `Your network has sent too many requests. Wait ${seconds === 1 ? 'a second' : `${seconds} seconds`} before the next request.`,
    )
  }
}

/** Returns the tokens of a bucket at the time `now`, possibly a fraction. A new network has a full bucket. */
function refillTokens(bucket: TokenBucket | undefined, now: number): number {
  if (!bucket) return burstSize
  const minutes = (now - bucket.updatedAt) / 60_000
  return Math.min(burstSize, bucket.tokens + minutes * perMinute)
}

/**
 * Returns the /64 network of an IPv6 address as its first four groups, for example `2001:db8:0:0`. Returns an IPv4
 * address itself, also if it is written as an IPv6 address (`::ffff:192.0.2.1`).
 */
function parseNetwork(address: string): string {
  const parts = splitIpAddress(address)
  if (!parts) return address
  return parts.version === 4 ? parts.numbers.join('.') : parts.groups.slice(0, 4).join(':')
}

const { public: signatures } = pipelineOperations

type PublicTable = 'data_pipelines' | 'views'
type PublicRow = DataPipelineRow | ViewRow
type PublicRequest<Query = undefined> = OperationInput<PipelineContext, '/public/views/:uid', Query, undefined>
const isViewRow = (row: PublicRow): row is ViewRow => 'query' in row
type WarehouseRelation = { warehouse: Warehouse; table: WarehouseTable }

const assertWithinRate = createNetworkRateLimit()
const cachedMetadata = createResponseCache<PublicMetadata>({ lifetimeMs: 30_000, maxEntries: 50 })
// Responses can have megabytes, so only concurrent requests share one (`lifetimeMs: 0`). Proxies can cache them, as
// Cache-Control allows.
const cachedData = createResponseCache<PublicData>({ lifetimeMs: 0, maxEntries: 200 })

/** Proxies and browsers may cache responses for 30 seconds, as long as this service caches metadata. */
const publicCacheHeaders = { 'Cache-Control': 'public, max-age=30', Vary: 'Accept-Language' }

/** Returns the same problem for missing and private objects, so that it does not reveal whether an object exists. */
const notPublic = () => problems.notFound('public object with this id')

/**
 * Returns the row of an object whose metadata or data, depending on `visibility`, is public. Throws 404 if it is not
 * public or its organisation is not active. Throws 429 if the caller's network has sent too many requests.
 */
async function readPublicRow(
  { db, params, request, identity }: PublicRequest<unknown>,
  table: PublicTable,
  visibility: 'metadata' | 'data',
) {
  assertWithinRate(request.address)
  const row = isUid(params.uid) ? await findPublicRow(db, table, params.uid, visibility) : undefined
  const client = row && (await identity.client(row.client))
  const isClientActive = client && !client.disabled && client.pipelinesEnabled
  if (!row || !isClientActive) throw notPublic()
  return row
}

/** Returns the row of an object with public metadata or data. */
async function findPublicRow(
  db: Kysely<DB>,
  table: PublicTable,
  uid: string,
  visibility: 'metadata' | 'data',
): Promise<PublicRow | undefined> {
  const row = await db
    .selectFrom(table)
    .selectAll()
    .where('uid', '=', uid)
    .where(`anonymous_${visibility}`, '=', true)
    .executeTakeFirst()
  return row as PublicRow | undefined
}

/**
 * Returns the table of a pipeline, or the built view of a view. Throws 404 if it does not exist, or the view is not
 * filled.
 */
async function readRelation(context: PublicRequest<unknown>, row: PublicRow): Promise<WarehouseRelation> {
  if (isViewRow(row)) {
    const builtView = await findBuiltView(context, row)
    if (!builtView?.view.populated) throw notPublic()
    return { warehouse: builtView.warehouse, table: builtView.view }
  }
  const loadedTable = await findLoadedTable(context, row)
  if (!loadedTable) throw notPublic()
  return loadedTable
}

const presentColumn = ({ name, label, dataType }: WarehouseColumn) => ({ name, label, dataType })

/** Returns the handler that responds with the metadata of a public pipeline or view. */
const createMetadataHandler = (table: PublicTable) => async (input: PublicRequest) => {
  const row = await readPublicRow(input, table, 'metadata')
  const { locales } = input.request
  const response = await cachedMetadata(JSON.stringify([row.uid, row.version, locales]), async () => {
    const { table: currentTable } = await readRelation(input, row)
    const runs = await findLastRuns(input.db, [row.id])
    const lastLoadedAt = runs.get(row.id)?.lastSuccess?.finished_at
    const viewFilledAt = isViewRow(row) ? row.filled_at : null
    return {
      id: row.uid,
      name: row.name,
      displayName: translateRowProperty(row, 'name', row.name, locales),
      description: row.description ?? undefined,
      displayDescription: translateRowProperty(row, 'description', row.description, locales),
      tags: row.tags,
      ...(!isViewRow(row) && presentOrigin(row)),
      lastUpdated: (lastLoadedAt ?? viewFilledAt)?.toISOString(),
      rowCount: currentTable.rowCount,
      columns: currentTable.columns.map(presentColumn),
    }
  })
  return new JsonResponse(response, publicCacheHeaders)
}

/** Returns the public fields about the origin of the data. Omits the owner, because that may be a person. */
const presentOrigin = ({ url, reference, source, terms_of_use }: DataPipelineRow) => ({
  url: url ?? undefined,
  reference: reference ?? undefined,
  source: source ?? undefined,
  termsOfUse: terms_of_use ?? undefined,
})

/** The timeout of a page query in seconds, and the slots that anonymous callers leave free for signed-in users. */
const anonymousSeconds = 5
const reservedSlots = 2

/** Runs a query for an anonymous caller. Only one such query per organisation runs at a time. */
function readAnonymously<T>(client: string, read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const pages = requestSlots.pages.queueOf(`anonymous ${client}`, { leave: reservedSlots })
  return requestSlots.anonymousPages.run(client, () => pages(read, signal), { signal })
}

/** The timeout in seconds for the warehouse query of an anonymous export. */
const anonymousExportSeconds = 300

/**
 * The key under which anonymous exports are counted: in each process they share two slots and the disk space of one
 * organisation.
 */
const anonymousShare = 'anonymous'

/**
 * Exports all rows as a file for an anonymous caller. The audit row has no actor. The export uses the warehouse only
 * after it has a slot, even for finding the table. At most 20 requests wait for a slot; further ones are refused.
 */
function exportAnonymously(
  input: PublicRequest<PublicDataQuery>,
  operation: string,
  row: PublicRow,
  choice: ExportChoice,
): Promise<FileDownload> {
  const caller = { client: row.client, uid: '', username: '' }
  // `open` fills in the schema and the name of the table. The audit row is written after the export.
  const auditDetails: Partial<TablePlace> = {}
  const open: ExportableRows['open'] = (format, signal) =>
    startWithTimeout(anonymousSeconds, signal, async (signalWithTimeout) => {
      const { warehouse, table } = await readRelation(input, row)
      auditDetails.schema = table.schema
      auditDetails.name = table.name
      signalWithTimeout.throwIfAborted()
      const source = { table: { schema: table.schema, name: table.name }, seconds: anonymousExportSeconds }
      return warehouse.queries.exportRows(source, format, signalWithTimeout)
    })
  return exportFile({ ...input, caller, operation, share: anonymousShare }, choice, async () => ({
    open,
    object: row.uid,
    details: auditDetails,
    fileName: row.name,
  }))
}

/** Returns the handler that responds with a page of rows of a public pipeline or view, or with all rows as a file. */
const createRowsHandler = (operation: string, table: PublicTable) => async (input: PublicRequest<PublicDataQuery>) => {
  const choice = chooseExport(input.query, input.request.acceptedType)
  const row = await readPublicRow(input, table, 'data')
  if (choice) return exportAnonymously(input, operation, row, choice)
  const { page = 1, pageSize = 100 } = input.query
  const response = await cachedData(
    JSON.stringify([row.uid, row.version, page, pageSize]),
    (signal) => readPage(input, row, { page, pageSize }, signal),
    input.request.stream.socket,
  )
  return new JsonResponse(response, publicCacheHeaders)
}

/** Reads a page of rows for an anonymous caller. Throws a problem if the page is too large for a response. */
async function readPage(
  input: PublicRequest<unknown>,
  row: PublicRow,
  { page, pageSize }: { page: number; pageSize: number },
  signal: AbortSignal,
): Promise<PublicData> {
  const range = { limit: pageSize, offset: (page - 1) * pageSize }
  const read = async () => {
    const { warehouse, table } = await readRelation(input, row)
    return warehouse.queries.readTable(table.schema, table.name, range, { signal, seconds: anonymousSeconds })
  }
  const { columns, rows, truncated } = await readAnonymously(row.client, read, signal)
  if (truncated) throw pageTooLargeProblem(pageSize, rows.length)
  return { id: row.uid, columns: columns.map(presentColumn), rows, height: rows.length, width: columns.length }
}

export const publicOperations = {
  dataPipeline: definePipelineOperation(signatures.dataPipeline, createMetadataHandler('data_pipelines')),
  dataPipelineData: definePipelineOperation(
    signatures.dataPipelineData,
    createRowsHandler(signatures.dataPipelineData.id, 'data_pipelines'),
  ),
  view: definePipelineOperation(signatures.view, createMetadataHandler('views')),
  viewData: definePipelineOperation(signatures.viewData, createRowsHandler(signatures.viewData.id, 'views')),
}
