import { randomBytes } from 'node:crypto'
import { DatabaseError } from 'pg'
import type { TableFill, SqlSession } from '../sql-warehouse/sql-dialect.ts'
import { sqlFragment, plainSql, sql } from '../sql-warehouse/sql-statement.ts'
import type { StreamCounts } from '../rows/convert-copy-tuples.ts'
import { type RowContent, WarehouseProblem } from '../warehouse.ts'
import type { ClientAccess } from './redshift-settings.ts'
import { type StagingBucket, bucketOf } from './staging-bucket.ts'
import type { ConnectionPool } from './connections.ts'
import { csvRows } from './csv-cells.ts'
import { redshiftNames, stringLiteral } from './sql-identifiers.ts'
import { openSession } from './session.ts'
import { asSentence } from '@sluice/process'
import { once } from 'node:events'
import { createGzip } from 'node:zlib'

/** Returns the prefix of the keys of all objects of this organisation in the staging bucket. */
export const clientPrefix = ({ key, staging: { prefix } }: ClientAccess): string => `${prefix && `${prefix}/`}${key}/`

/** Returns the part of an object key that identifies a run. */
export const runPart = (run: string): string => run.replaceAll(/[^A-Za-z0-9-]/g, '').slice(0, 64)

/**
 * See `SqlDialect.copyRows`. Uploads the rows as objects to the staging bucket. The cluster then loads them with one
 * atomic COPY. Afterwards removes the objects; a maintenance sweep removes those of dead workers. Object keys are
 * random, so a key does not reveal the keys of other loads.
 */
export async function copyRows(
  access: ClientAccess,
  connections: ConnectionPool,
  filling: TableFill,
  content: RowContent,
  signal: AbortSignal,
): Promise<StreamCounts> {
  const bucket = bucketOf(access.staging)
  const { run, attempt } = filling
  const prefix = `${clientPrefix(access)}${runPart(run)}/${attempt}-${randomBytes(12).toString('hex')}/`
  const counts: StreamCounts = { rows: 0, bytes: 0 }
  const nullWord = `~${randomBytes(5).toString('hex')}`
  try {
    const keys = await uploadRows(bucket, prefix, csvRows(filling, content, nullWord, counts), signal)
    if (keys.length === 0) return counts
    const manifest = `${prefix}manifest`
    const entries = keys.map((key) => ({ url: `s3://${access.staging.bucket}/${key}`, mandatory: true }))
    await bucket.put(manifest, Buffer.from(JSON.stringify({ entries })), signal)
    await using session = await openSession(connections, { role: 'service', signal })
    await loadFromManifest(session, access, filling, { manifest, nullWord, prefix })
    await assertRowsStored(session, filling, counts.rows)
    return counts
  } finally {
    await deleteObjects(bucket, prefix).catch(() => {})
  }
}

/** Throws a retryable problem unless the table has this number of rows. */
async function assertRowsStored(
  session: SqlSession,
  { place, quotedPlace }: TableFill,
  sentRows: number,
): Promise<void> {
  const [row] = await session.rows<{ stored: string }>(
    sql`select count(*)::varchar as stored from ${sqlFragment(redshiftNames.place(place))}`,
  )
  const storedRows = Number(row!.stored)
  if (storedRows === sentRows) return
  throw new WarehouseProblem(
    'WAREHOUSE_REFUSED',
    `The warehouse stored ${storedRows} rows of ${quotedPlace}, but ${sentRows} were sent. The run is retried automatically.`,
    { retryable: true },
  )
}

/**
 * Loads the objects that a manifest lists. If COPY fails because of a value, throws a problem that names its column.
 * The server's table of load errors contains the column.
 */
async function loadFromManifest(
  session: SqlSession,
  access: ClientAccess,
  { place, columns, quotedPlace }: TableFill,
  { manifest, nullWord, prefix }: { manifest: string; nullWord: string; prefix: string },
): Promise<void> {
  try {
    await session.execute(plainSql(buildCopyStatement(access, { place, columns, manifest, nullWord })))
  } catch (error) {
    const problem =
      error instanceof DatabaseError ? await findLoadProblem(session, quotedPlace, prefix, columns) : undefined
    throw problem ?? error
  }
}

type CopyStatement = Pick<TableFill, 'place' | 'columns'> & { manifest: string; nullWord: string }

/**
 * Builds the COPY statement. Its options round decimals instead of truncating them, and stop at the first row that does
 * not fit.
 */
export function buildCopyStatement(
  { staging, role }: ClientAccess,
  { place, columns, manifest, nullWord }: CopyStatement,
): string {
  const columnNames = columns.map(({ name }) => redshiftNames.quoted(name)).join(', ')
  const roleText = role === 'default' ? 'default' : stringLiteral(role)
  return [
    `copy ${redshiftNames.place(place)} (${columnNames})`,
    `from ${stringLiteral(`s3://${staging.bucket}/${manifest}`)} iam_role ${roleText} region ${stringLiteral(staging.region)}`,
    `manifest format as csv gzip null as ${stringLiteral(nullWord)} roundec maxerror 0 statupdate on`,
  ].join('\n')
}

interface LoadError {
  column: string
  reason: string
}

/**
 * Returns the queries for the newest error of a load: one for newer clusters and serverless workgroups, and one for
 * older clusters.
 */
const buildLoadErrorQueries = (prefix: string) => [
  sql`select column_name::varchar as "column", error_message::varchar as reason from sys_load_error_detail
    where strpos(file_name, ${prefix}) > 0 order by start_time desc limit 1`,
  sql`select colname::varchar as "column", err_reason::varchar as reason from stl_load_errors
    where strpos(filename, ${prefix}) > 0 order by starttime desc limit 1`,
]

/** Returns the problem for the value that the server could not load, or undefined if the server recorded none. */
async function findLoadProblem(
  session: SqlSession,
  quotedPlace: string,
  prefix: string,
  columns: TableFill['columns'],
): Promise<WarehouseProblem | undefined> {
  for (const statement of buildLoadErrorQueries(prefix)) {
    const [loadError] = await session.rows<LoadError>(statement).catch(() => [])
    if (!loadError) continue
    const name = loadError.column.trim()
    const label = columns.find((column) => column.name === name)?.label ?? name
    const columnText = name === '' ? '' : `, column "${label}"`
    return new WarehouseProblem(
      'BAD_VALUE',
      `The warehouse cannot store a value of ${quotedPlace}${columnText}: ${asSentence(loadError.reason.trim())}`,
    )
  }
  return undefined
}

/** Deletes all objects with keys that start with `prefix`. */
async function deleteObjects(bucket: StagingBucket, prefix: string): Promise<void> {
  for (const key of await bucket.list(prefix)) await bucket.remove(key)
}

/** See `SqlDialect.sweep`. Removes the objects of runs that no longer run from the staging bucket. */
export async function sweepStagingBucket(
  access: ClientAccess,
  listLiveRuns: () => Promise<ReadonlySet<string>>,
): Promise<void> {
  const bucket = bucketOf(access.staging)
  const prefix = clientPrefix(access)
  const keys = await bucket.list(prefix)
  if (keys.length === 0) return
  const liveRuns = new Set([...(await listLiveRuns())].map(runPart))
  for (const key of keys) {
    const [run = ''] = key.slice(prefix.length).split('/')
    if (!liveRuns.has(run)) await bucket.remove(key)
  }
}

/**
 * The uncompressed bytes of one object: small enough for memory, and large enough to give a cluster with several slices
 * parallel work.
 */
const objectBytes = 32 * 1024 * 1024

/**
 * Writes rows to one compressed object after the other, with keys that start with `prefix`. Returns the keys. Each
 * object is kept in memory until it is complete.
 */
async function uploadRows(
  bucket: StagingBucket,
  prefix: string,
  rows: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<string[]> {
  const keys: string[] = []
  const uploadObject = async (body: Buffer<ArrayBuffer>) => {
    const key = `${prefix}part-${String(keys.length + 1).padStart(6, '0')}.csv.gz`
    await bucket.put(key, body, signal)
    keys.push(key)
  }
  let object = createGzipObject()
  let bytes = 0
  for await (const chunk of rows) {
    signal.throwIfAborted()
    bytes += chunk.length
    await object.write(chunk)
    if (bytes < objectBytes) continue
    await uploadObject(await object.end())
    object = createGzipObject()
    bytes = 0
  }
  signal.throwIfAborted()
  const lastBody = await object.end()
  if (bytes > 0) await uploadObject(lastBody)
  return keys
}

/** Creates a gzip stream that compresses the rows of one object in memory. */
function createGzipObject() {
  const gzip = createGzip({ level: 1 })
  const chunks: Buffer[] = []
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk))
  return {
    async write(bytes: Buffer): Promise<void> {
      const isWritable = gzip.write(bytes)
      if (!isWritable) await once(gzip, 'drain')
    },
    /** Returns the compressed bytes. */
    async end(): Promise<Buffer<ArrayBuffer>> {
      gzip.end()
      await once(gzip, 'end')
      return Buffer.concat(chunks)
    },
  }
}
