import { SourceProblem } from '@sluice/row-stream'
import { chooseEntry } from '../archive/choose-entry.ts'
import { gunzipFile } from '../archive/decompress.ts'
import { ZipArchive } from '../archive/zip-archive.ts'
import { convertToUtf8 } from '../encodings/convert-to-utf8.ts'
import { isWorkbook, refuseOtherDocuments } from '../excel/workbook.ts'
import { writeSheet } from '../excel/sheet-to-delimited.ts'
import { formatBytes } from '../json/byte-window.ts'
import { writeJson } from '../json/json-to-delimited.ts'
import { wasmJson } from '../json/wasm-json-scanner.ts'
import { assertFormat, detectFormat, detectionBytes, type FileContent } from '../format/detect-format.ts'
import { type ByteSource, truncateAfter, FileBytes, readStart, catchTruncatedRead } from '../spool/byte-source.ts'
import { RejectsFile, type RowOutput } from '../spool/rejected-rows-file.ts'
import type { ConvertedFile, ConversionJob, ConversionResult } from '../format/conversion-job.ts'
import type { JobPort } from '../reader-thread-protocol.ts'
import { ScratchFiles } from '../spool/spool-file.ts'
import { SpoolWriter } from '../spool/spool-writer.ts'

/** A conversion job and its additional temporary files. */
type JobWithScratchFiles = ConversionJob & { scratch: ScratchFiles }

/**
 * Converts an upload to UTF-8 text or Parquet in the spool of the job. Reports the number of bytes read from the
 * source.
 */
export async function convertUpload(job: ConversionJob, port: JobPort): Promise<ConversionResult> {
  using scratch = new ScratchFiles(job.directory)
  let maxBytesRead = 0
  const file = await convertByFormat({ ...job, scratch }, (bytes) => {
    // Progress never decreases, even if the source is read a second time.
    maxBytesRead = Math.max(maxBytesRead, bytes)
    port.progress({ bytesRead: maxBytesRead })
  })
  return { file, memoryBytes: measureMemory() }
}

function measureMemory(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers + wasmJson.usedBytes
}

/** Detects the format of an upload, and converts it. */
async function convertByFormat(job: JobWithScratchFiles, onRead: (bytes: number) => void): Promise<ConvertedFile> {
  const { source, size, name, limits, options } = job
  const file = new FileBytes(source, 0, size, limits.chunkBytes, onRead)
  const content = detectFormat(await readStart(file, detectionBytes), name, options.encoding)
  if (content.kind === 'GZIP') return convertUnpacked(job, gunzipFile(file, name, limits), name, 'gzip')
  if (content.kind !== 'ZIP') return convertContent(job, file, content, [])
  const archive = await ZipArchive.open(file, name, limits)
  if (isWorkbook(archive)) return convertWorkbook(job, archive, [])
  refuseOtherDocuments(archive)
  const entry = await chooseEntry(archive, options)
  return convertUnpacked(job, archive.bytes(entry), `${entry} in ${name}`, `a ZIP archive with ${entry}`)
}

/**
 * Converts the content of an archive, which may have any supported format except another archive. `archiveFormat`
 * describes the archive.
 */
async function convertUnpacked(
  job: JobWithScratchFiles,
  unpacked: ByteSource,
  name: string,
  archiveFormat: string,
): Promise<ConvertedFile> {
  const { limits, options } = job
  const content = detectFormat(await readStart(unpacked, detectionBytes), name, options.encoding)
  if (content.kind !== 'ZIP') return convertContent({ ...job, name }, unpacked, content, [archiveFormat])
  // A workbook is a ZIP archive too. It needs random access, so it is first unpacked to a file.
  const scratchFile = job.scratch.open()
  const writer = new SpoolWriter(scratchFile, limits.spoolBytes, name)
  const isPreview = job.firstBytes !== undefined
  await copyBytes(isPreview ? limitBytes(unpacked, limits.previewBytes, name) : unpacked, writer)
  const archive = await ZipArchive.open(new FileBytes(scratchFile, 0, writer.size, limits.chunkBytes), name, limits)
  if (!isWorkbook(archive)) throw nestedArchiveProblem(name)
  return convertWorkbook(job, archive, [archiveFormat])
}

/**
 * Writes content that is not an archive: Parquet unchanged, everything else as delimited UTF-8 text. `outerFormats`
 * describes the formats around the content, such as gzip.
 */
async function convertContent(
  job: ConversionJob,
  wholeSource: ByteSource,
  content: FileContent,
  outerFormats: string[],
): Promise<ConvertedFile> {
  assertFormat(content.kind === 'PARQUET' ? 'PARQUET' : 'DELIMITED', job.expectedFormat, job.name)
  const output = createOutput(job)
  if (content.kind === 'PARQUET') {
    await copyBytes(wholeSource, output.writer)
    return finishOutput('PARQUET', output, { formats: [...outerFormats, 'Parquet'], complete: true })
  }
  if (!('encoding' in content)) throw nestedArchiveProblem(job.name)
  const source = job.firstBytes === undefined ? wholeSource : truncateAfter(wholeSource, job.firstBytes)
  const text = convertToUtf8(source, content)
  const textDescription = [content.encoding.toUpperCase(), 'text', content.because].filter(Boolean).join(' ')
  if (content.kind === 'JSON') {
    const { kind, ...result } = await writeJson(text, output, job)
    const description = content.encoding === 'utf-8' ? kind : `${kind} in ${textDescription}`
    return finishOutput('DELIMITED', output, { ...result, sparse: true, formats: [...outerFormats, description] })
  }
  const isComplete = (await copyBytes(text, output.writer).catch(catchTruncatedRead)) !== 'TRUNCATED'
  return finishOutput('DELIMITED', output, { formats: [...outerFormats, textDescription], complete: isComplete })
}

/** Writes one sheet of a workbook as delimited text. */
async function convertWorkbook(
  job: JobWithScratchFiles,
  archive: ZipArchive,
  outerFormats: string[],
): Promise<ConvertedFile> {
  assertFormat('DELIMITED', job.expectedFormat, job.name)
  const output = createOutput(job)
  const sheetResult = await writeSheet(archive, output, job)
  const { number, name } = sheetResult.sheets.find(({ isRead }) => isRead)!
  const sheetCount = sheetResult.sheets.length
  const sheet = sheetCount === 1 ? `the sheet ${name}` : `the sheet ${name} (${number} of ${sheetCount})`
  return finishOutput('DELIMITED', output, {
    ...sheetResult,
    formats: [...outerFormats, `an Excel workbook, of which ${sheet} was read`],
  })
}

function createOutput({ spool, rejects, limits, name, size }: ConversionJob): RowOutput {
  const minSuspiciousBytes = Math.max(limits.writtenFrom, size * limits.ratio)
  return {
    writer: new SpoolWriter(spool, limits.spoolBytes, name, minSuspiciousBytes),
    rejects: new RejectsFile(new SpoolWriter(rejects, limits.spoolBytes, name), limits.keptRejects),
  }
}

function finishOutput(
  format: ConvertedFile['format'],
  { writer, rejects }: RowOutput,
  description: Omit<ConvertedFile, 'format' | 'size' | 'rejected'>,
): ConvertedFile {
  writer.flush()
  rejects.flush()
  return { format, size: writer.size, rejected: rejects.count, ...description }
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
