import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'
import { exportMediaTypes, type ExportFormat } from '@sluice/contracts'
import { recordAudit } from '@sluice/database'
import { encodeInThread } from '@sluice/file-formats/export/encode-in-thread'
import { type ExportedColumn, UnencodableValueError } from '@sluice/file-formats/export/exported-column'
import { type Caller, FileDownload, Problem, problems, type RequestFacts } from '@sluice/http-server'
import type { Kysely } from 'kysely'
import type { RowExport, RowTextFormat } from '@sluice/warehouses/warehouse'
import type { DB } from '../database.ts'
import { limitReading } from './limit-export-reads.ts'
import type { RunningExports } from './running-exports.ts'

/** The rows of an export. The caller's right to read them is already checked. */
export interface ExportableRows {
  /** Starts reading all rows as text. Throws the problems of the source. */
  open(format: RowTextFormat, signal: AbortSignal): Promise<RowExport>
  /**
   * Returns the source formats by column. Called after `open`, because no load replaces the rows while they are being
   * read.
   */
  readSourceFormats?(): Promise<ReadonlyMap<string, string>>
  /** The uid of the object, for the audit; null for rows without one, which `details` describe. */
  object: string | null
  /** Details for the audit log. They are read when the export ends. */
  details?: object
  /** The name of the file without its extension. */
  fileName: string
}

export interface ExportChoice {
  format: Exclude<ExportFormat, 'json'>
  dialect: 'rfc4180' | 'excel'
  /** Whether the values of CSV are printed as in the loaded files. */
  sourceFormats?: boolean
}

/** Milliseconds without traffic after which TCP probes whether the connection is still alive. */
const keepAliveMs = 60_000

/** Formats that are sent compressed to callers that accept gzip. The other formats contain compression of their own. */
const compressibleFormats: ReadonlySet<ExportFormat> = new Set(['csv', 'ndjson', 'arrow'])
/** gzip level 1 is five times as fast as the default level, and its output a tenth larger. */
const gzipLevel = 1

interface ExportInput {
  /** The caller. The uid is empty for an anonymous caller. */
  caller: Pick<Caller, 'client' | 'uid' | 'username'>
  request: Pick<RequestFacts, 'id' | 'address' | 'url' | 'stream'>
  exports: RunningExports
  db: Kysely<DB>
  /** The id of the operation, for the audit log. */
  operation: string
  /** The organisation that provides the disk share and the slots for the export. Default: the caller's. */
  share?: string
}

/**
 * Returns all rows as a file. A GET request with a Range header continues the caller's running export of the same URL,
 * if there is one. The export of a POST request ends when its connection closes. HEAD reads no rows. Throws the
 * warehouse's problems until the first byte is sent.
 */
export async function exportFile(
  input: ExportInput,
  choice: ExportChoice,
  findRows: () => Promise<ExportableRows>,
): Promise<FileDownload> {
  const { caller, request, exports, share = caller.client } = input
  const { headers, method } = request.stream
  const rows = await findRows()
  const isCompressed = compressibleFormats.has(choice.format) && acceptsGzip(headers['accept-encoding'])
  const encoding = isCompressed ? ('gzip' as const) : undefined
  const fileHead = {
    mediaType: choice.format === 'csv' ? 'text/csv; charset=utf-8; header=present' : exportMediaTypes[choice.format],
    fileName: `${rows.fileName}.${choice.format}`,
    encoding,
  }
  if (method === 'HEAD') return new FileDownload({ ...fileHead, bytes: undefined, isContinued: false, onClose() {} })
  const readerId = caller.uid || request.address
  const continuationKey =
    method === 'GET' ? JSON.stringify([caller.client, readerId, request.url, choice, encoding]) : undefined
  const disconnected = new AbortController()
  const disconnect = () => disconnected.abort(problems.unreadableBody('The client closed the connection.'))
  const { socket } = request.stream
  socket.once('close', disconnect)
  if (socket.destroyed) disconnect()
  // Only an uncompressed export can continue, because callers count the decompressed bytes that they have.
  const ifRange = /^\s*"([^"]*)"\s*$/.exec(String(headers['if-range'] ?? ''))?.[1]
  const canContinue = headers.range !== undefined && !encoding && (headers['if-range'] === undefined || ifRange)
  const continuedExport =
    continuationKey !== undefined && canContinue ? exports.find(continuationKey, ifRange) : undefined
  // Disable the socket timeout, because preparing the export may take longer.
  socket.setTimeout(0)
  socket.setKeepAlive(true, keepAliveMs)
  const findOrStart = async () =>
    continuedExport ??
    (await exports.start({
      client: share,
      key: continuationKey,
      signal: disconnected.signal,
      read: (signal) => readFile(input, choice, rows, encoding, signal),
    }))
  // Remove the listener, because later requests reuse the connection.
  const runningExport = await findOrStart().finally(() => socket.off('close', disconnect))
  const attachedDownload = runningExport.attach()
  const detach = () => attachedDownload.detach()
  try {
    if (choice.format === 'xlsx') {
      // Wait until the workbook is complete, because a sheet has a maximum number of rows: an error is better than a
      // truncated file.
      socket.once('close', detach)
      if (socket.destroyed) detach()
      await runningExport.spool.size().finally(() => socket.off('close', detach))
    }
    return new FileDownload({
      ...fileHead,
      bytes: runningExport.spool,
      isContinued: continuedExport !== undefined,
      onClose: detach,
    })
  } catch (error) {
    detach()
    throw toProblem(error)
  }
}

/** Reads the rows and yields the bytes of the file. Writes the audit row when the export ends. */
async function* readFile(
  input: ExportInput,
  { format, dialect, sourceFormats = false }: ExportChoice,
  source: ExportableRows,
  encoding: 'gzip' | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let rows: RowExport | undefined
  let outcome: 'OK' | 'FAILED' = 'FAILED'
  using limitedRead = limitReading(input.exports.readLimits, signal)
  try {
    rows = await source.open(chooseTextFormat(format, dialect), limitedRead.signal)
    const sourceFormatByColumn = sourceFormats ? await source.readSourceFormats?.() : undefined
    const columns = rows.columns.map((column) => ({
      ...column,
      sourceFormat: sourceFormatByColumn?.get(column.name),
    }))
    const file = encodeRows(format, { columns, bytes: limitedRead.limit(rows.bytes) }, limitedRead.signal)
    yield* encoding === 'gzip' ? compress(file) : file
    outcome = 'OK'
  } catch (error) {
    throw toProblem(error)
  } finally {
    await rows?.[Symbol.asyncDispose]()
    await auditExport(input, source, { format, rows: rows?.rowCount() ?? 0, outcome })
  }
}

async function auditExport(
  { db, caller, request, operation }: ExportInput,
  { object, details }: ExportableRows,
  result: { format: ExportFormat; rows: number; outcome: 'OK' | 'FAILED' },
): Promise<void> {
  await recordAudit(db, {
    operation,
    actor: caller.uid || null,
    actorName: caller.username || null,
    client: caller.client,
    object,
    requestId: request.id,
    address: request.address,
    details: { ...details, ...result },
  })
}

/**
 * Returns the text format in which the source sends the rows. The formats in `encodedFormats` are generated from CSV.
 */
function chooseTextFormat(format: ExportChoice['format'], dialect: ExportChoice['dialect']): RowTextFormat {
  if (format === 'ndjson') return 'NDJSON'
  return format === 'csv' && dialect === 'excel' ? 'EXCEL_CSV' : 'CSV'
}

const encodedFormats = { parquet: 'PARQUET', arrow: 'ARROW', xlsx: 'XLSX' } as const

/**
 * Returns the bytes of the file. CSV without source formats and NDJSON are the bytes of the warehouse; a thread encodes
 * the other formats.
 */
function encodeRows(
  format: ExportChoice['format'],
  { columns, bytes }: { columns: readonly ExportedColumn[]; bytes: AsyncIterable<Uint8Array> },
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const usesSourceFormats = columns.some(({ sourceFormat }) => sourceFormat !== undefined)
  if (format === 'ndjson' || (format === 'csv' && !usesSourceFormats)) return bytes
  const encodedFormat = format === 'csv' ? 'SOURCE_FORMAT_CSV' : encodedFormats[format]
  return encodeInThread({ format: encodedFormat, columns, rows: removeHeader(bytes) }, signal)
}

/** Yields all chunks except the first one, which is the header. */
async function* removeHeader(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let isFirst = true
  for await (const chunk of bytes) {
    if (!isFirst) yield chunk
    isFirst = false
  }
}

/** Compresses bytes with gzip while they arrive. */
async function* compress(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: gzipLevel })
  const writeToGzip = promisify((chunk: Uint8Array, done: (error?: Error | null) => void) => gzip.write(chunk, done))
  const source = bytes[Symbol.asyncIterator]()
  const writeSource = async () => {
    // Write each chunk before reading the next one, which may reuse its memory.
    for (let next = await source.next(); !next.done; next = await source.next()) await writeToGzip(next.value)
    gzip.end()
  }
  // Write and read concurrently. An error of the source becomes an error of the stream that is read below.
  writeSource().catch((error) => gzip.destroy(error))
  try {
    for await (const chunk of gzip) yield chunk as Uint8Array
  } finally {
    gzip.destroy()
    await source.return?.()
  }
}

function acceptsGzip(header: string | string[] | undefined): boolean {
  const entry = String(header ?? '')
    .split(',')
    .find((part) => /^\s*(gzip|\*)\s*(;|$)/i.test(part))
  return entry !== undefined && !/;\s*q\s*=\s*0(\.0*)?\s*$/i.test(entry)
}

/**
 * Converts the error for a value that the file format cannot represent to a problem. Returns other errors unchanged.
 */
function toProblem(error: unknown): unknown {
  if (!(error instanceof UnencodableValueError)) return error
  return new Problem(422, 'not-exportable', 'The rows do not fit into this format.', { detail: error.message })
}
