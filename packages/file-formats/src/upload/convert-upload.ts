import { SourceProblem } from '@sluice/row-stream'
import { chooseEntry } from '../archive/choose-entry.ts'
import { gunzipFile } from '../archive/decompress.ts'
import { ZipArchive } from '../archive/zip-archive.ts'
import { convertToUtf8 } from '../encodings/convert-to-utf8.ts'
import { isWorkbook, refuseOtherDocuments } from '../excel/workbook.ts'
import { writeSheet } from '../excel/sheet-to-delimited.ts'
import { formatBytes } from '../json/byte-window.ts'
import { writeJson } from '../json/json-to-delimited.ts'
import { wasmJson } from '../json/wasm-json.ts'
import { assertFormat, detectFormat, detectionBytes, type FileContent } from '../format/detect-format.ts'
import { type ByteSource, truncateAfter, FileBytes, startOf, catchTruncatedRead } from '../spool/byte-source.ts'
import { RejectsFile, type RowOutput } from '../spool/rejects-file.ts'
import type { NormalisedFile, NormaliseJob, NormaliseResult } from '../format/converted-upload.ts'
import type { JobPort } from '../reader-thread-protocol.ts'
import { ScratchFiles } from '../spool/spool-file.ts'
import { SpoolWriter } from '../spool/spool-writer.ts'

/** A conversion job and its temporary files. */
type NormaliseWork = NormaliseJob & { scratch: ScratchFiles }

/** Converts an upload to UTF-8 text or Parquet in the spool of the job. Reports the number of bytes read from the source. */
export async function normaliseUpload(job: NormaliseJob, port: JobPort): Promise<NormaliseResult> {
  using scratch = new ScratchFiles(job.directory)
  let maxBytesRead = 0
  const file = await normaliseWith({ ...job, scratch }, (bytes) => {
    // Progress never decreases, even if the source is read a second time.
    maxBytesRead = Math.max(maxBytesRead, bytes)
    port.progress({ bytesRead: maxBytesRead })
  })
  return { file, heldBytes: heldBytes() }
}

function heldBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers + wasmJson.usedBytes
}

async function normaliseWith(job: NormaliseWork, onRead: (bytes: number) => void): Promise<NormalisedFile> {
  const { source, size, name, limits, options } = job
  const file = new FileBytes(source, 0, size, limits.chunkBytes, onRead)
  const content = detectFormat(await startOf(file, detectionBytes), name, options.encoding)
  if (content.kind === 'GZIP') return normaliseUnpacked(job, gunzipFile(file, name, limits), name, 'gzip')
  if (content.kind !== 'ZIP') return normaliseContent(job, file, content, [])
  const archive = await ZipArchive.open(file, name, limits)
  if (isWorkbook(archive)) return normaliseWorkbook(job, archive, [])
  refuseOtherDocuments(archive)
  const entry = await chooseEntry(archive, options)
  return normaliseUnpacked(job, archive.bytes(entry), `${entry} in ${name}`, `a ZIP archive with ${entry}`)
}

/** Converts the content of an archive. It may have any supported format except another archive. */
async function normaliseUnpacked(
  job: NormaliseWork,
  unpacked: ByteSource,
  name: string,
  format: string,
): Promise<NormalisedFile> {
  const { limits, options } = job
  const content = detectFormat(await startOf(unpacked, detectionBytes), name, options.encoding)
  if (content.kind !== 'ZIP') return normaliseContent({ ...job, name }, unpacked, content, [format])
  // A workbook needs random access, so it is first unpacked to a file.
  const scratchFile = job.scratch.open()
  const writer = new SpoolWriter(scratchFile, limits.spoolBytes, name)
  await copyBytes(job.firstBytes === undefined ? unpacked : limitBytes(unpacked, limits.previewBytes, name), writer)
  const archive = await ZipArchive.open(new FileBytes(scratchFile, 0, writer.size, limits.chunkBytes), name, limits)
  if (!isWorkbook(archive)) throw nestedArchiveProblem(name)
  return normaliseWorkbook(job, archive, [format])
}

/**
 * Writes the content as Parquet or as delimited UTF-8 text. `notices` are the formats around the content, such as a ZIP
 * archive.
 */
async function normaliseContent(
  job: NormaliseJob,
  wholeSource: ByteSource,
  content: FileContent,
  notices: string[],
): Promise<NormalisedFile> {
  assertFormat(content.kind === 'PARQUET' ? 'PARQUET' : 'DELIMITED', job.expectedFormat, job.name)
  const output = createOutput(job)
  if (content.kind === 'PARQUET') {
    await copyBytes(wholeSource, output.writer)
    return finishOutput('PARQUET', output, { notices: [...notices, 'Parquet'], complete: true })
  }
  if (!('encoding' in content)) throw nestedArchiveProblem(job.name)
  const source = job.firstBytes === undefined ? wholeSource : truncateAfter(wholeSource, job.firstBytes)
  const text = convertToUtf8(source, content)
  const textDescription = [content.encoding.toUpperCase(), 'text', content.because].filter(Boolean).join(' ')
  if (content.kind === 'JSON') {
    const { kind, ...result } = await writeJson(text, output, job)
    const description = content.encoding === 'utf-8' ? kind : `${kind} in ${textDescription}`
    return finishOutput('DELIMITED', output, { ...result, sparse: true, notices: [...notices, description] })
  }
  const isComplete = (await copyBytes(text, output.writer).catch(catchTruncatedRead)) !== 'CUT'
  return finishOutput('DELIMITED', output, { notices: [...notices, textDescription], complete: isComplete })
}

async function normaliseWorkbook(job: NormaliseWork, archive: ZipArchive, notices: string[]): Promise<NormalisedFile> {
  assertFormat('DELIMITED', job.expectedFormat, job.name)
  const out = createOutput(job)
  const sheetResult = await writeSheet(archive, out, job)
  const { number, name } = sheetResult.sheets.find(({ isRead }) => isRead)!
  const sheetCount = sheetResult.sheets.length
  const sheet = sheetCount === 1 ? `the sheet ${name}` : `the sheet ${name} (${number} of ${sheetCount})`
  return finishOutput('DELIMITED', out, {
    ...sheetResult,
    notices: [...notices, `an Excel workbook, of which ${sheet} was read`],
  })
}

function createOutput({ spool, rejects, limits, name, size }: NormaliseJob): RowOutput {
  const minDenseBytes = Math.max(limits.writtenFrom, size * limits.ratio)
  return {
    writer: new SpoolWriter(spool, limits.spoolBytes, name, minDenseBytes),
    rejects: new RejectsFile(new SpoolWriter(rejects, limits.spoolBytes, name), limits.keptRejects),
  }
}

function finishOutput(
  format: NormalisedFile['format'],
  { writer, rejects }: RowOutput,
  rest: Omit<NormalisedFile, 'format' | 'size' | 'rejected'>,
): NormalisedFile {
  writer.flush()
  rejects.flush()
  return { format, size: writer.size, rejected: rejects.count, ...rest }
}

async function copyBytes(source: ByteSource, writer: SpoolWriter): Promise<void> {
  for await (const chunk of source.chunks()) writer.put(chunk)
  writer.flush()
}

/** Returns a source with the same bytes that throws SourceProblem PREVIEW_TOO_LARGE after `maxBytes` bytes. */
function limitBytes(source: ByteSource, maxBytes: number, name: string): ByteSource {
  return {
    async *chunks() {
      let bytes = 0
      for await (const chunk of source.chunks()) {
        bytes += chunk.length
        if (bytes > maxBytes) throw previewTooLargeProblem(name, maxBytes)
        yield chunk
      }
    },
  }
}

const previewTooLargeProblem = (name: string, maxBytes: number) =>
  new SourceProblem(
    'PREVIEW_TOO_LARGE',
    `A preview unpacks workbooks of up to ${formatBytes(maxBytes)}, and the one in ${name} is larger. Run the pipeline to read it, or upload the workbook without the archive.`,
  )

const nestedArchiveProblem = (name: string) =>
  new SourceProblem('ARCHIVE_NESTED', `${name} holds another archive; unpack it and upload the file inside.`)
