import { ftruncateSync, readSync } from 'node:fs'
import { detectionBytes, detectFormat } from '@sluice/file-formats/format/detect-format'
import { previewRowStream } from '@sluice/file-formats/preview/preview-row-stream'
import { previewUpload } from '@sluice/file-formats/preview/preview-upload'
import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import { SourceProblem } from '@sluice/row-stream'
import { selectObjects } from './select-objects.ts'
import type { StoredObject } from './object-store.ts'
import { fetchObject, type LocalObject, type ObjectReadContext, readLocalObject } from './read-object.ts'
import { addObjectColumns } from './many-objects/combined-table.ts'

/** The bytes that a preview downloads from the start of an object. */
const startBytes = 4 * 1024 * 1024
/** The maximum size of an object that a preview must download completely. */
const maxWholeBytes = 64 * 1024 * 1024
/** The maximum bytes at the end of the downloaded part in which the last line end is searched. */
const maxTailBytes = 1024 * 1024
const lineFeed = 0x0a

/** Returns the first rows of the object with this key. If the key is a pattern, uses the first matching object. */
export async function previewObjects(
  context: ObjectReadContext,
  key: string,
  maxRows: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  const { store, retryPolicy } = context
  const { isSingle, objects } = await selectObjects({ store, key, retryPolicy, maxResults: 2 }, signal)
  const [object, secondObject] = objects
  const preview = await previewObject(context, object!, maxRows, signal)
  if (isSingle) return preview
  const moreText = secondObject
    ? `The preview shows the first of several objects that match "${key}".`
    : `The preview shows the only object that matches "${key}".`
  const { columns, rows, notes, complete, ...otherFields } = preview
  return {
    ...otherFields,
    ...addObjectColumns(columns, rows, object!),
    notes: [...notes, moreText],
    complete: complete && !secondObject,
  }
}

/**
 * Downloads the start of an object and returns its first rows. Downloads the whole object only if the format requires
 * it.
 */
async function previewObject(
  context: ObjectReadContext,
  object: StoredObject,
  maxRows: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  const isWhole = object.size <= startBytes
  using start = await fetchObject(context, object, { log() {} }, signal, isWhole ? undefined : startBytes)
  const content = detectContent(context, start)
  const isParquet = content.kind === 'PARQUET'
  const requiresWholeFile = isParquet || content.kind === 'ZIP'
  if (isWhole || !requiresWholeFile) {
    const isPartOfText = start.size < object.size && content.kind === 'TEXT' && content.encoding === 'utf-8'
    if (isPartOfText) removeIncompleteLine(start)
    return await previewLocalFile(context, start, { maxRows, isWhole, isParquet }, signal)
  }
  if (object.size > maxWholeBytes) throw createTooLargeProblem(object)
  using localObject = await fetchObject(context, object, { log() {} }, signal)
  return await previewLocalFile(context, localObject, { maxRows, isWhole: true, isParquet }, signal)
}

/** Detects the format of a downloaded file from its first bytes. */
function detectContent({ options }: ObjectReadContext, { object, fd, size }: LocalObject) {
  const bytes = Buffer.alloc(Math.min(size, detectionBytes))
  const bytesRead = readSync(fd, bytes, 0, bytes.length, 0)
  return detectFormat(bytes.subarray(0, bytesRead), object.key, options.encoding)
}

/** Truncates a file after its last line end. Leaves it unchanged if its last megabyte has no line end. */
function removeIncompleteLine({ fd, size }: LocalObject): void {
  const tail = Buffer.alloc(Math.min(size, maxTailBytes))
  const tailStart = size - tail.length
  readSync(fd, tail, 0, tail.length, tailStart)
  const lineEnd = tail.lastIndexOf(lineFeed)
  if (lineEnd >= 0) ftruncateSync(fd, tailStart + lineEnd + 1)
}

/** Previews a downloaded object. `isWhole` is true if the file contains the complete object, not only its start. */
async function previewLocalFile(
  context: ObjectReadContext,
  localObject: LocalObject,
  { maxRows, isWhole, isParquet }: { maxRows: number; isWhole: boolean; isParquet: boolean },
  signal: AbortSignal,
): Promise<SourcePreview> {
  const { filesDirectory, options } = context
  // Parquet has no preview function, so its first rows are read as in a run. This requires the complete object.
  const previewParquet = () =>
    previewRowStream(
      (report, previewSignal) => readLocalObject(context, localObject, report, previewSignal),
      maxRows,
      signal,
    )
  if (isParquet) return previewParquet()
  try {
    const upload = { path: localObject.fd, name: localObject.object.key, filesDirectory }
    const preview = await previewUpload(upload, options, maxRows, signal)
    return { ...preview, complete: preview.complete && isWhole }
  } catch (error) {
    // Parquet inside gzip or ZIP is only recognised after decompression.
    const containsParquet = error instanceof SourceProblem && error.code === 'PARQUET_UPLOADED'
    if (!containsParquet) throw error
    if (!isWhole) throw createTooLargeProblem(localObject.object)
    return previewParquet()
  }
}

const createTooLargeProblem = ({ key, size }: StoredObject): SourceProblem =>
  new SourceProblem(
    'PREVIEW_TOO_LARGE',
    `"${key}" has ${Math.ceil(size / 1024 / 1024)} MB. Previews read files of this format up to ${maxWholeBytes / 1024 / 1024} MB: run the pipeline to see the rows.`,
  )
