import { SourceProblem } from '../../source.ts'
import { chooseEntry } from '../compressed/choose-entry.ts'
import { gunzipped } from '../compressed/gunzip.ts'
import { ZipArchive } from '../compressed/zip-archive.ts'
import { asUtf8 } from '../encodings/as-utf8.ts'
import { isWorkbook, refuseOtherDocuments } from '../excel/workbook-kind.ts'
import { writeSheet } from '../excel/write-sheet.ts'
import { writeJson } from '../json/write-json.ts'
import { type Content, lookedAt, recognise } from '../recognise.ts'
import { type ByteSource, FileBytes, startOf } from './byte-source.ts'
import type { Output } from './output.ts'
import type { Job, Normalised } from './protocol.ts'
import { Rejects } from './rejects.ts'
import { openSpool } from './spool-file.ts'
import { SpoolWriter } from './spool-writer.ts'

/** Turns an upload that is not plain UTF-8 text into one that is, in the job's spool. `tell` hears how far the source was read. */
export async function normalise(job: Job, tell: (bytes: number) => void): Promise<Normalised> {
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
async function packed(job: Job, inside: ByteSource, name: string, found: string): Promise<Normalised> {
  const { limits, options, directory } = job
  const content = recognise(await startOf(inside, lookedAt), name, options.encoding)
  if (content.kind !== 'ZIP') return plain({ ...job, name }, inside, content, [found])
  // A workbook is read here and there, so it has to be a file.
  const scratch = openSpool(directory)
  const writer = new SpoolWriter(scratch, limits.spoolBytes, name)
  await copy(inside, writer)
  const archive = await ZipArchive.open(new FileBytes(scratch, 0, writer.size, limits.chunkBytes), name, limits)
  if (!isWorkbook(archive)) throw nested(name)
  return workbook(job, archive, [found])
}

async function plain(job: Job, source: ByteSource, content: Content, found: string[]): Promise<Normalised> {
  const { writer, rejects } = output(job)
  if (content.kind === 'PARQUET') {
    await copy(source, writer)
    return { format: 'PARQUET', size: writer.size, found: [...found, 'Parquet'], rejected: 0 }
  }
  if (!('encoding' in content)) throw nested(job.name)
  const text = asUtf8(source, content)
  const told = [content.encoding.toUpperCase(), 'text', content.because].filter(Boolean).join(' ')
  if (content.kind === 'JSON') {
    const { kind, dialect } = await writeJson(text, { writer, rejects }, job)
    const inside = content.encoding === 'utf-8' ? kind : `${kind} in ${told}`
    return finished({ writer, rejects }, [...found, inside], dialect)
  }
  await copy(text, writer)
  return finished({ writer, rejects }, [...found, told])
}

async function workbook(job: Job, archive: ZipArchive, found: string[]): Promise<Normalised> {
  const { writer, rejects } = output(job)
  const { sheet, dialect } = await writeSheet(archive, { writer, rejects }, job)
  return finished({ writer, rejects }, [...found, `an Excel workbook, of which ${sheet} was read`], dialect)
}

function output({ spool, rejects, limits, name }: Job): Output {
  return {
    writer: new SpoolWriter(spool, limits.spoolBytes, name),
    rejects: new Rejects(new SpoolWriter(rejects, limits.spoolBytes, name)),
  }
}

function finished({ writer, rejects }: Output, found: string[], dialect?: Normalised['dialect']): Normalised {
  writer.flush()
  rejects.flush()
  return { format: 'DELIMITED', size: writer.size, found, rejected: rejects.count, ...(dialect && { dialect }) }
}

async function copy(source: ByteSource, writer: SpoolWriter): Promise<void> {
  for await (const chunk of source.chunks()) writer.put(chunk)
  writer.flush()
}

const nested = (name: string) =>
  new SourceProblem('ARCHIVE_NESTED', `${name} holds another archive; unpack it once and upload what is inside.`)
