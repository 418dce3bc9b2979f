import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FilePreviewQuery, SourcePreview } from '@sluice/contracts'
import { Problem, problems, type Input } from '@sluice/http'
import { sourceProblemCode } from '../../problems.ts'
import { receiveFile } from '../../files/receive-file.ts'
import type { PipelineContext } from '../operation.ts'
import { shares } from '../shares.ts'
import { preview } from './preview.ts'
import { kindOf } from './types/registry.ts'
import { assertBinaryBody } from './upload.ts'

type PreviewFileRequest = Input<PipelineContext, '/data-pipelines/preview-file', FilePreviewQuery, undefined>

/** The bytes that a preview reads, and the milliseconds that they may take to arrive. */
const mostBytes = 4 * 1024 * 1024
const longest = 30_000

/** Previews the first rows of a file without storing it. */
export async function previewFile(input: PreviewFileRequest): Promise<SourcePreview> {
  const { query, files, request, caller } = input
  const { type = 'CSV_UPLOAD', name = 'The file', rows, ...csvOptions } = query
  const body = { type, csvOptions }
  const kind = kindOf(type)
  kind.check(body as never)
  assertBinaryBody(request.stream.headers)

  const { bytes, cut } = await shares.previewFiles.run(caller.client, () => beginningOf(request.stream))
  if (bytes.length === 0) throw problems.refused('/', 'The file is empty.')
  const uid = randomUUID()
  const received = await receiveFile(Readable.from([cut ? wholeLines(bytes) : bytes]), files, uid)
  try {
    const reading = { type, settings: kind.settings(body as never), secrets: {}, input: { file: { uid, name } } }
    const found = await preview(input, reading, { name, rows })
    return { ...found, size: received.size, complete: found.complete && !cut }
  } catch (error) {
    if (cut && !(error instanceof Problem) && sourceProblemCode(error) !== 'PREVIEW_TOO_LARGE') throw tooLarge(error)
    throw error
  } finally {
    await received.discard()
  }
}

/** Reads the first bytes of a body. The response ends the request, so the rest is not read. */
async function beginningOf(stream: Readable): Promise<{ bytes: Buffer; cut: boolean }> {
  const chunks: Buffer[] = []
  let size = 0
  const slow = setTimeout(() => stream.destroy(), longest)
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > mostBytes) return { bytes: Buffer.concat(chunks, mostBytes), cut: true }
    }
  } catch {
    throw problems.unreadableBody('The file broke off before its end, or took too long.')
  } finally {
    clearTimeout(slow)
  }
  return { bytes: Buffer.concat(chunks), cut: false }
}

/** Removes the incomplete last line. */
function wholeLines(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(10)
  return end > 0 ? bytes.subarray(0, end + 1) : bytes
}

/** Only text can be previewed by its first bytes; other files are needed as a whole. */
const tooLarge = (cause: unknown) =>
  new Problem(422, 'preview-needs-whole-file', 'The beginning of this file is not enough.', {
    detail: `A file of this kind is looked at whole, and it is larger than ${mostBytes / 1024 / 1024} MB: upload it to a pipeline, and preview that.`,
    cause,
  })
