import type { FilePreviewQuery, SourceBody, SourcePreview } from '@sluice/contracts'
import { type OperationInput, Problem, problems } from '@sluice/http-server'
import type { PipelineContext } from '../operation-context.ts'
import { presentQueryResult } from '../table-responses.ts'
import { requestSlots } from '../concurrency-limits.ts'
import { type RequestedSource, readRequestedSource, withVariables } from './pipeline-source.ts'
import type { FoundSheet } from '@sluice/file-formats/format/conversion-job'
import type { RowCell } from '@sluice/warehouses/warehouse'
import { getDefinition } from '@sluice/connectors/registry/connector-definitions'
import { runWhileConnected } from '../abort-on-disconnect.ts'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { findSourceProblemCode } from '../../problems/map-database-errors.ts'
import { receiveFile } from '../../files/receive-file.ts'
import { assertBinaryBody, assertPlainEncoding } from '../receive-upload.ts'
import { describeKeyProblems } from './write-mode.ts'

type PreviewRequest = OperationInput<PipelineContext, '/data-pipelines/preview', undefined, SourceBody>

const previewTimeoutMs = 30_000

/** Previews the first rows of a source, even if it is not saved yet. */
export async function previewSource(input: PreviewRequest): Promise<SourcePreview> {
  const { body } = input
  const definition = getDefinition(body.type)
  definition.assertSettings?.(body)
  if (definition.upload && body.id === undefined)
    throw problems.refused(
      '/id',
      'Set id to the pipeline with the file to preview, or send the file to /api/v1/data-pipelines/preview-file.',
    )
  const mergeKey = body.writeMode === 'MERGE' ? body.mergeKey : undefined
  return presentPreview(input, await readRequestedSource(input), {
    mergeKey,
    name: definition.formatSourceName?.(definition.getSettings(body)) ?? 'preview',
    rows: body.rows,
  })
}

type PreviewContext = Pick<PreviewRequest, 'sources' | 'caller' | 'request' | 'db' | 'keyRing'>

/** The maximum numbers of characters and entries in the response, as its schema declares them. */
const maxLengths = { raw: 8192, notes: 100, note: 10_000, sheets: 1_000 }

/** Reads the first rows and converts them to a response. Aborts when the caller disconnects. Throws `SourceProblem`. */
async function presentPreview(
  input: PreviewContext,
  reading: RequestedSource,
  { name, rows = 100, mergeKey = [] }: { name: string; rows?: number | undefined; mergeKey?: string[] | undefined },
): Promise<SourcePreview> {
  const start = new Date()
  const { preview, redact } = await readFirstRows(input, reading, { rows, timeoutMs: previewTimeoutMs })
  const notes = [...preview.notes, ...describeKeyProblems(preview, mergeKey)]
  return {
    ...presentQueryResult(name, {
      columns: preview.columns.map((column) => ({ primaryKey: false, ...column })),
      rows: preview.rows.map((row) => row.map((cell) => redact.cell(cell as RowCell))),
      startedAt: start.toISOString(),
      milliseconds: Date.now() - start.getTime(),
    }),
    complete: preview.complete,
    rejected: preview.rejected.map(({ line, column, reason, raw }) => ({
      line,
      column,
      reason,
      raw: redact.text(raw).slice(0, maxLengths.raw),
    })),
    notes: notes.slice(0, maxLengths.notes).map((note) => redact.text(note).slice(0, maxLengths.note)),
    ...(preview.csvGuesses && { csvGuesses: preview.csvGuesses }),
    ...(preview.sheets && { sheets: preview.sheets.slice(0, maxLengths.sheets).map(presentSheet) }),
  }
}

/**
 * Returns the first rows as the source delivers them, and `redact`, which removes the values of secured variables from
 * them. Throws 422 after `timeoutMs`.
 */
export function readFirstRows(
  input: PreviewContext,
  reading: RequestedSource,
  { rows, timeoutMs }: { rows: number; timeoutMs: number },
) {
  const { sources, caller, request } = input
  const queue = requestSlots.previews.queueOf(caller.client)
  const onTimeout = () => throwPreviewTimeout(timeoutMs)
  return withVariables(input, reading, async (filledReading, redact) => {
    const preview = await runWhileConnected({ request, queue, timeoutMs, onTimeout }, (signal) =>
      sources.preview(filledReading, rows, signal),
    )
    return { preview, redact }
  })
}

const presentSheet = ({ number, name, isHidden, hasRows, isRead }: FoundSheet) => ({
  number,
  name: name.slice(0, 255),
  hidden: isHidden,
  hasRows,
  read: isRead,
})

const throwPreviewTimeout = (timeoutMs: number): never => {
  throw problems.refused(
    '/',
    `The source did not return enough rows within ${timeoutMs / 1000} seconds. Request fewer rows, or run the pipeline instead.`,
  )
}

type PreviewFileRequest = OperationInput<PipelineContext, '/data-pipelines/preview-file', FilePreviewQuery, undefined>

/** The maximum number of bytes of a file that a preview reads, and the timeout in milliseconds for receiving them. */
const maxPreviewBytes = 4 * 1024 * 1024
const receiveTimeoutMs = 30_000

/** Previews the first rows of a file without storing it. */
export async function previewFile(input: PreviewFileRequest): Promise<SourcePreview> {
  const { query, files, request, caller } = input
  const { type = 'CSV_UPLOAD', name = 'The file', rows, ...csvOptions } = query
  const body = { type, csvOptions }
  const definition = getDefinition(type)
  definition.assertSettings?.(body as never)
  assertBinaryBody(request.stream.headers)
  assertPlainEncoding(request.stream.headers)

  const { bytes, isTruncated } = await requestSlots.previewFiles.run(caller.client, () =>
    readFirstBytes(request.stream),
  )
  if (bytes.length === 0) throw problems.refused('/', 'The file is empty.')
  const uid = randomUUID()
  const received = await receiveFile(Readable.from([isTruncated ? dropIncompleteLine(bytes) : bytes]), files, uid)
  try {
    const reading = {
      type,
      settings: definition.getSettings(body as never),
      secrets: {},
      input: { file: { uid, name } },
    }
    const preview = await presentPreview(input, reading, { name, rows })
    return { ...preview, size: received.size, complete: preview.complete && !isTruncated }
  } catch (error) {
    const isUnreadable = !(error instanceof Problem) && findSourceProblemCode(error) !== 'PREVIEW_TOO_LARGE'
    // The file may be unreadable only because its end is missing.
    throw isTruncated && isUnreadable ? needsWholeFileProblem(error) : error
  } finally {
    await received.discard()
  }
}

/**
 * Reads at most `maxPreviewBytes` of a request body. `isTruncated` says whether the body has more bytes. The connection
 * closes after the response, so the rest is not read.
 */
async function readFirstBytes(stream: Readable): Promise<{ bytes: Buffer; isTruncated: boolean }> {
  const chunks: Buffer[] = []
  let size = 0
  const receiveTimer = setTimeout(() => stream.destroy(), receiveTimeoutMs)
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > maxPreviewBytes) return { bytes: Buffer.concat(chunks, maxPreviewBytes), isTruncated: true }
    }
  } catch {
    throw problems.unreadableBody('The upload was interrupted or took too long. Send the file again.')
  } finally {
    clearTimeout(receiveTimer)
  }
  return { bytes: Buffer.concat(chunks), isTruncated: false }
}

/** Removes the last line, because it may be incomplete. Returns bytes without a line break unchanged. */
function dropIncompleteLine(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf('\n')
  return end > 0 ? bytes.subarray(0, end + 1) : bytes
}

/** Returns the problem for a large file that is not text: its first bytes are not enough for a preview. */
const needsWholeFileProblem = (cause: unknown) =>
  new Problem(422, 'preview-needs-whole-file', 'The start of this file is not enough.', {
    detail: `A preview of this type of file needs the whole file, and this file is larger than ${maxPreviewBytes / 1024 / 1024} MB. Upload it to a pipeline, and preview the pipeline.`,
    cause,
  })
