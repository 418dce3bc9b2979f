import { SourceProblem } from '../../source.ts'
import { chooseEntry } from '../compressed/choose-entry.ts'
import { gunzipped } from '../compressed/unpacked.ts'
import { ZipArchive } from '../compressed/zip-archive.ts'
import { asUtf8 } from '../encodings/as-utf8.ts'
import { isWorkbook, refuseOtherDocuments } from '../excel/workbook.ts'
import { writeSheet } from '../excel/write-sheet.ts'
import { size } from '../json/problems.ts'
import { writeJson } from '../json/write-json.ts'
import { type Content, lookedAt, recognise } from '../recognise.ts'
import { assertWanted } from '../wanted.ts'
import { type ByteSource, cutShort, FileBytes, startOf, unlessCut } from './byte-source.ts'
import type { Output } from './output.ts'
import type { Job, Normalised } from './protocol.ts'
import { Rejects } from './rejects.ts'
import { ScratchFiles } from './spool-file.ts'
import { SpoolWriter } from './spool-writer.ts'

/** A job, and where it gets its temporary files. */
type Work = Job & { scratch: ScratchFiles }

/** Turns an upload that is not plain UTF-8 text into one that is, in the job's spool. `tell` hears how far the source was read. */
export async function normalise(job: Job, tell: (bytes: number) => void): Promise<Normalised> {
  using scratch = new ScratchFiles(job.directory)
  return await normaliseWith({ ...job, scratch }, tell)
}

async function normaliseWith(job: Work, tell: (bytes: number) => void): Promise<Normalised> {
  const { source, size, name, limits, options } = job
  const file = new FileBytes(source, 0, size, limits.chunkBytes, tell)
  const content = recognise(await startOf(file, lookedAt), name, options.encoding)
  if (content.kind === 'GZIP') return packed(job, gunzipped(file, name, limits), name, 'gzip')
  if (content.kind !== 'ZIP') return plain(job, file, content, [])
  const archive = await ZipArchive.open(file, name, limits)
  if (isWorkbook(archive)) return workbook(job, archive, [])
  refuseOtherDocuments(archive)
  const entry = await chooseEntry(archive, options)
  return packed(job, archive.bytes(entry), `${entry} in ${name}`, `a ZIP archive with ${entry}`)
}

/** What was packed once may be anything that can be uploaded, but for another archive. */
async function packed(job: Work, inside: ByteSource, name: string, found: string): Promise<Normalised> {
  const { limits, options } = job
  const content = recognise(await startOf(inside, lookedAt), name, options.encoding)
  if (content.kind !== 'ZIP') return plain({ ...job, name }, inside, content, [found])
  // A workbook is read here and there, so it has to be a file.
  const unpacked = job.scratch.open()
  const writer = new SpoolWriter(unpacked, limits.spoolBytes, name)
  await copy(job.firstBytes === undefined ? inside : limitBytes(inside, limits.previewBytes, name), writer)
  const archive = await ZipArchive.open(new FileBytes(unpacked, 0, writer.size, limits.chunkBytes), name, limits)
  if (!isWorkbook(archive)) throw nested(name)
  return workbook(job, archive, [found])
}

async function plain(job: Job, whole: ByteSource, content: Content, found: string[]): Promise<Normalised> {
  assertWanted(content.kind === 'PARQUET' ? 'PARQUET' : 'DELIMITED', job.wanted, job.name)
  const out = output(job)
  if (content.kind === 'PARQUET') {
    await copy(whole, out.writer)
    return finished('PARQUET', out, { found: [...found, 'Parquet'], complete: true })
  }
  if (!('encoding' in content)) throw nested(job.name)
  const source = job.firstBytes === undefined ? whole : cutShort(whole, job.firstBytes)
  const text = asUtf8(source, content)
  const told = [content.encoding.toUpperCase(), 'text', content.because].filter(Boolean).join(' ')
  if (content.kind === 'JSON') {
    const { kind, ...rest } = await writeJson(text, out, job)
    const inside = content.encoding === 'utf-8' ? kind : `${kind} in ${told}`
    return finished('DELIMITED', out, { ...rest, sparse: true, found: [...found, inside] })
  }
  const complete = (await copy(text, out.writer).catch(unlessCut)) !== 'CUT'
  return finished('DELIMITED', out, { found: [...found, told], complete })
}

async function workbook(job: Work, archive: ZipArchive, found: string[]): Promise<Normalised> {
  assertWanted('DELIMITED', job.wanted, job.name)
  const out = output(job)
  const written = await writeSheet(archive, out, job)
  const { number, name } = written.sheets.find(({ isRead }) => isRead)!
  const of = written.sheets.length
  const sheet = of === 1 ? `the sheet ${name}` : `the sheet ${name} (${number} of ${of})`
  return finished('DELIMITED', out, { ...written, found: [...found, `an Excel workbook, of which ${sheet} was read`] })
}

function output({ spool, rejects, limits, name, size }: Job): Output {
  const dense = Math.max(limits.writtenFrom, size * limits.ratio)
  return {
    writer: new SpoolWriter(spool, limits.spoolBytes, name, dense),
    rejects: new Rejects(new SpoolWriter(rejects, limits.spoolBytes, name), limits.keptRejects),
  }
}

function finished(
  format: Normalised['format'],
  { writer, rejects }: Output,
  rest: Omit<Normalised, 'format' | 'size' | 'rejected'>,
): Normalised {
  writer.flush()
  rejects.flush()
  return { format, size: writer.size, rejected: rejects.count, ...rest }
}

async function copy(source: ByteSource, writer: SpoolWriter): Promise<void> {
  for await (const chunk of source.chunks()) writer.put(chunk)
  writer.flush()
}

/** Returns a source with the same bytes, which throws SourceProblem PREVIEW_TOO_LARGE after `most` bytes. */
function limitBytes(source: ByteSource, most: number, name: string): ByteSource {
  return {
    async *chunks() {
      let bytes = 0
      for await (const chunk of source.chunks()) {
        bytes += chunk.length
        if (bytes > most) throw tooLargeForPreview(name, most)
        yield chunk
      }
    },
  }
}

const tooLargeForPreview = (name: string, most: number) =>
  new SourceProblem(
    'PREVIEW_TOO_LARGE',
    `A preview unpacks workbooks of up to ${size(most)}, and the one in ${name} is larger. Run the pipeline to read it, or upload the workbook without the archive.`,
  )

const nested = (name: string) =>
  new SourceProblem('ARCHIVE_NESTED', `${name} holds another archive; unpack it once and upload what is inside.`)
