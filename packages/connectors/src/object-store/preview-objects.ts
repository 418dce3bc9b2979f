import { ftruncateSync, readSync } from 'node:fs'
import { detectionBytes, detectFormat } from '@sluice/file-formats/format/detect-format'
import { previewFeed } from '@sluice/file-formats/preview/preview-feed'
import { previewUpload } from '@sluice/file-formats/preview/preview-upload'
import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import { SourceProblem } from '@sluice/row-stream'
import { selectObjects } from './select-objects.ts'
import type { StoredObject } from './object-store.ts'
import { fetchObject, type LocalObject, type ObjectReading, readLocalObject } from './read-object.ts'
import { addOwnColumns } from './combined-table.ts'

/** Bytes that are downloaded of an object whose start is enough for a preview; the next limit applies to objects that must be complete. */
const startBytes = 4 * 1024 * 1024
const maxWholeBytes = 64 * 1024 * 1024

/** Returns the first rows of the object for a key, or of the first object if several match. */
export async function previewObjects(
  reading: ObjectReading,
  key: string,
  most: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  const { store, retryPolicy } = reading
  const { single, objects } = await selectObjects({ store, key, retryPolicy, enough: 2 }, signal)
  const [object, another] = objects
  const found = await previewObject(reading, object!, most, signal)
  if (single) return found
  const more = another
    ? `It is the first of the objects that match "${key}".`
    : `It is the only object that matches "${key}".`
  const { columns, rows, notes, complete, ...rest } = found
  return { ...rest, ...addOwnColumns(columns, rows, object!), notes: [...notes, more], complete: complete && !another }
}

async function previewObject(
  reading: ObjectReading,
  object: StoredObject,
  most: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  const isWhole = object.size <= startBytes
  using start = await fetchObject(reading, object, { log() {} }, signal, isWhole ? undefined : startBytes)
  const kind = kindOf(reading, start)
  if (kind === 'START' || isWhole) return await previewLocal(reading, start, { most, isWhole, kind }, signal)
  if (object.size > maxWholeBytes) throw tooLargeProblem(object)
  using whole = await fetchObject(reading, object, { log() {} }, signal)
  return await previewLocal(reading, whole, { most, isWhole: true, kind }, signal)
}

type PreviewKind = 'PARQUET' | 'WHOLE' | 'START'

/** Decides whether the start of the object is enough. Removes an incomplete last line. */
function kindOf({ options }: ObjectReading, { object, fd, size }: LocalObject): PreviewKind {
  const bytes = Buffer.alloc(Math.min(size, detectionBytes))
  const content = detectFormat(bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)), object.key, options.encoding)
  if (content.kind === 'PARQUET') return 'PARQUET'
  if (content.kind === 'ZIP') return 'WHOLE'
  if (content.kind === 'TEXT' && size < object.size && content.encoding === 'utf-8') cutLine(fd, size)
  return 'START'
}

function cutLine(fd: number, size: number): void {
  const tail = Buffer.alloc(Math.min(size, 1024 * 1024))
  readSync(fd, tail, 0, tail.length, size - tail.length)
  const end = tail.lastIndexOf(10)
  if (end >= 0) ftruncateSync(fd, size - tail.length + end + 1)
}

async function previewLocal(
  reading: ObjectReading,
  local: LocalObject,
  { most, isWhole, kind }: { most: number; isWhole: boolean; kind: PreviewKind },
  signal: AbortSignal,
): Promise<SourcePreview> {
  const { filesDirectory, options } = reading
  const asFeed = () => previewFeed((report, ending) => readLocalObject(reading, local, report, ending), most, signal)
  if (kind === 'PARQUET') return asFeed()
  try {
    const upload = { path: local.fd, name: local.object.key, filesDirectory }
    const found = await previewUpload(upload, options, most, signal)
    return { ...found, complete: found.complete && isWhole }
  } catch (error) {
    // Parquet in gzip or ZIP is recognised once it is unpacked.
    if (!(error instanceof SourceProblem) || error.code !== 'PARQUET_UPLOADED') throw error
    if (!isWhole) throw tooLargeProblem(local.object)
    return asFeed()
  }
}

const tooLargeProblem = ({ key, size }: StoredObject): SourceProblem =>
  new SourceProblem(
    'PREVIEW_TOO_LARGE',
    `"${key}" must be read whole and has ${Math.ceil(size / 1024 / 1024)} MB; previews read up to ${maxWholeBytes / 1024 / 1024} MB. Run the pipeline to see its rows.`,
  )
