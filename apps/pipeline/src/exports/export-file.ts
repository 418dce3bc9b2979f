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
import { limitReading } from './limit-reading.ts'
import type { RunningExports } from './running-exports.ts'

/** The rows of an export, found for a caller who may read them. */
export interface ExportableRows {
  /** Starts reading all rows as text. Throws the problems of the source. */
  open(format: RowTextFormat, signal: AbortSignal): Promise<RowExport>
  /** Returns the printed forms by column. Called after `open`, because no load replaces the rows while they are being read. */
  readPrintedForms?(): Promise<ReadonlyMap<string, string>>
  /** The uid of the object, for the audit; null for rows without one, which `details` describe. */
  object: string | null
  /** For the audit, read when the export ends. */
  details?: object
  /** The name of the file without its extension. */
  fileName: string
}

export interface ExportChoice {
  format: Exclude<ExportFormat, 'json'>
  dialect: 'rfc4180' | 'excel'
  /** Whether the values of CSV are printed as in the loaded files. */
  printedForms?: boolean
}

/** Milliseconds after which TCP probes a silent client. */
const keepAliveMs = 60_000

/** Formats that are compressed for clients that accept gzip. The others are compressed by themselves. */
const compressibleFormats: ReadonlySet<ExportFormat> = new Set(['csv', 'ndjson', 'arrow'])
/** Level 1 is five times as fast as the default and leaves a tenth more bytes. */
const gzipLevel = 1

interface ExportInput {
  /** The uid is empty for an anonymous reader. */
  caller: Pick<Caller, 'client' | 'uid' | 'username'>
  request: Pick<RequestFacts, 'id' | 'address' | 'url' | 'stream'>
  exports: RunningExports
  db: Kysely<DB>
  /** The id of the operation, for the audit. */
  operation: string
  /** The organisation that provides the disk share and slots of the export. Default: the caller's. */
  share?: string
}

/**
 * Returns all rows as a file. A GET request with a Range header continues the caller's running export of the same address, if there
 * is one; the export of a POST request ends with its connection. HEAD reads no rows. Throws the warehouse's problems as long as no
 * byte was sent.
 */
export async function exportFile(
  input: ExportInput,
  choice: ExportChoice,
  find: () => Promise<ExportableRows>,
): Promise<FileDownload> {
  const { caller, request, exports, share = caller.client } = input
  const { headers, method } = request.stream
  const rows = await find()
  const isCompressed = compressibleFormats.has(choice.format) && acceptsGzip(headers['accept-encoding'])
  const encoding = isCompressed ? ('gzip' as const) : undefined
  const fileHead = {
    mediaType: choice.format === 'csv' ? 'text/csv; charset=utf-8; header=present' : exportMediaTypes[choice.format],
    fileName: `${rows.fileName}.${choice.format}`,
    encoding,
  }
  if (method === 'HEAD') return new FileDownload({ ...fileHead, bytes: undefined, isContinued: false, onClose() {} })
  const reader = caller.uid || request.address
  const key = method === 'GET' ? JSON.stringify([caller.client, reader, request.url, choice, encoding]) : undefined
  const disconnected = new AbortController()
  const disconnect = () => disconnected.abort(problems.unreadableBody('The client closed the connection.'))
  const { socket } = request.stream
  socket.once('close', disconnect)
  if (socket.destroyed) disconnect()
  // Only plain bytes can be continued: a client counts the decoded bytes that it has.
  const ifRange = /^\s*"([^"]*)"\s*$/.exec(String(headers['if-range'] ?? ''))?.[1]
  const canContinue = headers.range !== undefined && !encoding && (headers['if-range'] === undefined || ifRange)
  const continued = key !== undefined && canContinue ? exports.find(key, ifRange) : undefined
  // The preparation may take longer than the server waits for data.
  socket.setTimeout(0)
  socket.setKeepAlive(true, keepAliveMs)
  const findOrStart = async () =>
    continued ??
    (await exports.start({
      client: share,
      key,
      signal: disconnected.signal,
      read: (signal) => readFile(input, choice, rows, encoding, signal),
    }))
  // Later requests reuse the connection, so the listener is removed.
  const started = await findOrStart().finally(() => socket.off('close', disconnect))
  const attached = started.attach()
  const detach = () => attached.detach()
  try {
    if (choice.format === 'xlsx') {
      // Waits until the sheet is complete: a sheet has a limit of rows, and a problem is better than a truncated file.
      socket.once('close', detach)
      if (socket.destroyed) detach()
      await started.spool.size().finally(() => socket.off('close', detach))
    }
    return new FileDownload({
      ...fileHead,
      bytes: started.spool,
      isContinued: continued !== undefined,
      onClose: detach,
    })
  } catch (error) {
    detach()
    throw toProblem(error)
  }
}

/** Reads the rows and yields the bytes of the file. Records the export in the audit when it ends. */
async function* readFile(
  { db, caller, request, operation, exports }: ExportInput,
  { format, dialect, printedForms = false }: ExportChoice,
  { open, readPrintedForms, object, details }: ExportableRows,
  encoding: 'gzip' | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let openedExport: RowExport | undefined
  let outcome = 'FAILED'
  using reading = limitReading(exports.readLimits, signal)
  try {
    openedExport = await open(chooseTextFormat(format, dialect), reading.signal)
    const forms = printedForms ? await readPrintedForms?.() : undefined
    const columns = openedExport.columns.map((column) => ({ ...column, printedForm: forms?.get(column.name) }))
    const bytes = encodeRows(format, { columns, bytes: reading.limit(openedExport.bytes) }, reading.signal)
    yield* encoding ? compress(bytes) : bytes
    outcome = 'OK'
  } catch (error) {
    throw toProblem(error)
  } finally {
    await openedExport?.[Symbol.asyncDispose]()
    await recordAudit(db, {
      operation,
      actor: caller.uid || null,
      actorName: caller.username || null,
      client: caller.client,
      object,
      requestId: request.id,
      address: request.address,
      details: { ...details, format, rows: openedExport?.rowCount() ?? 0, outcome },
    })
  }
}

/** Returns the format in which the source sends the rows. The formats of `encodedFormats` are made of CSV. */
function chooseTextFormat(format: ExportChoice['format'], dialect: ExportChoice['dialect']): RowTextFormat {
  if (format === 'ndjson') return 'NDJSON'
  return format === 'csv' && dialect === 'excel' ? 'EXCEL_CSV' : 'CSV'
}

const encodedFormats = { parquet: 'PARQUET', arrow: 'ARROW', xlsx: 'XLSX' } as const

function encodeRows(
  format: ExportChoice['format'],
  { columns, bytes }: { columns: readonly ExportedColumn[]; bytes: AsyncIterable<Uint8Array> },
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const isPrinted = format === 'csv' && columns.some(({ printedForm }) => printedForm !== undefined)
  if (!isPrinted && (format === 'csv' || format === 'ndjson')) return bytes
  const encodedFormat = format === 'csv' ? 'PRINTED_CSV' : encodedFormats[format]
  return encodeInThread({ format: encodedFormat, columns, rows: withoutHeader(bytes) }, signal)
}

/** Yields all chunks except the first, which is the header. */
async function* withoutHeader(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let isFirst = true
  for await (const chunk of bytes) {
    if (!isFirst) yield chunk
    isFirst = false
  }
}

async function* compress(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: gzipLevel })
  const write = promisify((chunk: Uint8Array, done: (error?: Error | null) => void) => gzip.write(chunk, done))
  const source = bytes[Symbol.asyncIterator]()
  const feed = async () => {
    // Each chunk is written before the next is read, because the next may reuse its memory.
    for (let next = await source.next(); !next.done; next = await source.next()) await write(next.value)
    gzip.end()
  }
  feed().catch((error) => gzip.destroy(error))
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

/** Translates the error of a value that the format cannot hold. Returns other errors as they are. */
function toProblem(error: unknown): unknown {
  if (!(error instanceof UnencodableValueError)) return error
  return new Problem(422, 'not-exportable', 'The rows do not fit into this format.', { detail: error.message })
}
