import { SourceProblem } from '../../source.ts'
import { gunzipped } from '../compressed/gunzip.ts'
import { asUtf8 } from '../encodings/as-utf8.ts'
import { type Content, lookedAt, recognise } from '../recognise.ts'
import { type ByteSource, FileBytes, startOf } from './byte-source.ts'
import type { Job, Normalised } from './protocol.ts'
import { SpoolWriter } from './spool-writer.ts'

/** Turns an upload that is not plain UTF-8 text into one that is, in the job's spool. `tell` hears how far the source was read. */
export async function normalise(job: Job, tell: (bytes: number) => void): Promise<Normalised> {
  const { source, size, name, limits, options } = job
  const file = new FileBytes(source, 0, size, limits.chunkBytes, tell)
  const content = recognise(await startOf(file, lookedAt), name, options.encoding)
  if (content.kind === 'GZIP') {
    const inside = gunzipped(file, name, limits)
    const found = recognise(await startOf(inside, lookedAt), name, options.encoding)
    return write(job, inside, found, ['gzip'])
  }
  return write(job, file, content, [])
}

async function write(job: Job, source: ByteSource, content: Content, found: string[]): Promise<Normalised> {
  const { spool, limits, name } = job
  const writer = new SpoolWriter(spool, limits.spoolBytes, name)
  if (content.kind === 'PARQUET') {
    await copy(source, writer)
    return { format: 'PARQUET', size: writer.size, found: [...found, 'Parquet'], rejected: 0 }
  }
  if (!('encoding' in content)) throw nested(name)
  await copy(asUtf8(source, content), writer)
  const text = [content.encoding.toUpperCase(), 'text', content.because].filter(Boolean).join(' ')
  return { format: 'DELIMITED', size: writer.size, found: [...found, text], rejected: 0 }
}

async function copy(source: ByteSource, writer: SpoolWriter): Promise<void> {
  for await (const chunk of source.chunks()) writer.put(chunk)
  writer.flush()
}

const nested = (name: string) =>
  new SourceProblem('ARCHIVE_NESTED', `${name} holds another archive; unpack it once and upload what is inside.`)
