import { ftruncateSync, readSync } from 'node:fs'
import { detectionBytes, detectFormat } from '@sluice/file-formats/format/detect-format'
import { previewRowStream } from '@sluice/file-formats/preview/preview-row-stream'
import { previewUpload } from '@sluice/file-formats/preview/preview-upload'
import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import { SourceProblem } from '@sluice/row-stream'
import { selectObjects } from './select-objects.ts'
import type { StoredObject } from './object-store.ts'
import { fetchObject, type LocalObject, type ObjectReading, readLocalObject } from './read-object.ts'
import { addOwnColumns } from './many-objects/combined-table.ts'

/**
 * The bytes that a preview downloads from the start of an object, and the maximum size of an object that it must
 * download completely.
 */
const startBytes = 4 * 1024 * 1024
const maxWholeBytes = 64 * 1024 * 1024

/** Returns the first rows of the object with this key. If the key is a pattern, uses the first matching object. */
export async function previewObjects(
  reading: ObjectReading,
  key: string,
  maxRows: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  const { store, retryPolicy } = reading
  const { isSingle, objects } = await selectObjects({ store, key, retryPolicy, maxResults: 2 }, signal)
  const [object, secondObject] = objects
  const preview = await previewObject(reading, object!, maxRows, signal)
  if (isSingle) return preview
  const moreText = secondObject
    ? `The preview shows the first of several objects that match "${key}".`
    : `The preview shows the only object that matches "${key}".`
  const { columns, rows, notes, complete: isComplete, ...otherFields } = preview
  return {
    ...otherFields,
    ...addOwnColumns(columns, rows, object!),
    notes: [...notes, moreText],
    complete: isComplete && !secondObject,
  }
}

async function previewObject(
  reading: ObjectReading,
  object: StoredObject,
  maxRows: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  const isWhole = object.size <= startBytes
  using start = await fetchObject(reading, object, { log() {} }, signal, isWhole ? undefined : startBytes)
  const kind = preparePreviewFile(reading, start)
  if (kind === 'START' || isWhole) return await previewLocalFile(reading, start, { maxRows, isWhole, kind }, signal)
  if (object.size > maxWholeBytes) throw createTooLargeProblem(object)
  using localObject = await fetchObject(reading, object, { log() {} }, signal)
  return await previewLocalFile(reading, localObject, { maxRows, isWhole: true, kind }, signal)
}

/** The part of a file that a preview needs. START: only its start. WHOLE and PARQUET: the complete file. */
type PreviewKind = 'PARQUET' | 'WHOLE' | 'START'

/** Determines how a preview reads the file. If the file is only the start of a text, cuts its incomplete last line. */
function preparePreviewFile({ options }: ObjectReading, { object, fd, size }: LocalObject): PreviewKind {
  const bytes = Buffer.alloc(Math.min(size, detectionBytes))
  const content = detectFormat(bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)), object.key, options.encoding)
  if (content.kind === 'PARQUET') return 'PARQUET'
  if (content.kind === 'ZIP') return 'WHOLE'
  if (content.kind === 'TEXT' && size < object.size && content.encoding === 'utf-8') cutIncompleteLine(fd, size)
  return 'START'
}

function cutIncompleteLine(fd: number, size: number): void {
  const tail = Buffer.alloc(Math.min(size, 1024 * 1024))
  readSync(fd, tail, 0, tail.length, size - tail.length)
  const end = tail.lastIndexOf(10)
  if (end >= 0) ftruncateSync(fd, size - tail.length + end + 1)
}

/** Previews a downloaded object. `isWhole` is true if the file contains the complete object, not only its start. */
async function previewLocalFile(
  reading: ObjectReading,
  localObject: LocalObject,
  { maxRows, isWhole, kind }: { maxRows: number; isWhole: boolean; kind: PreviewKind },
  signal: AbortSignal,
): Promise<SourcePreview> {
  const { filesDirectory, options } = reading
  // Parquet has no preview function, so its first rows are read as in a run. This requires the complete object.
  const previewParquet = () =>
    previewRowStream((report, ending) => readLocalObject(reading, localObject, report, ending), maxRows, signal)
  if (kind === 'PARQUET') return previewParquet()
  try {
    const upload = { path: localObject.fd, name: localObject.object.key, filesDirectory }
    const preview = await previewUpload(upload, options, maxRows, signal)
    return { ...preview, complete: preview.complete && isWhole }
  } catch (error) {
    // Parquet inside gzip or ZIP is only recognised after decompression.
    if (!(error instanceof SourceProblem) || error.code !== 'PARQUET_UPLOADED') throw error
    if (!isWhole) throw createTooLargeProblem(localObject.object)
    return previewParquet()
  }
}

const createTooLargeProblem = ({ key, size }: StoredObject): SourceProblem =>
  new SourceProblem(
    'PREVIEW_TOO_LARGE',
    `"${key}" has ${Math.ceil(size / 1024 / 1024)} MB. Previews read files of this format up to ${maxWholeBytes / 1024 / 1024} MB: run the pipeline to see the rows.`,
  )
