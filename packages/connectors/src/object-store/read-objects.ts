import { formatCount, emptyRowStream, type RowStream, type Column, type ReadReporter } from '@sluice/row-stream'
import { splitProgress } from '@sluice/file-formats/upload/split-progress'
import { type SelectedObjects, selectObjects, sortByKey } from './select-objects.ts'
import type { StoredObject } from './object-store.ts'
import { type ObjectReading, fetchObject, isEmptyListProblem, readLocalObject } from './read-object.ts'
import { readObjectsAsOneTable } from './many-objects/read-objects-as-one-table.ts'
import { objectPrecedence, omitOwnColumns } from './many-objects/combined-table.ts'
import type { WriteMode } from '@sluice/contracts'
import { createHash } from 'node:crypto'

export interface ObjectsRequest {
  key: string
  /** All settings that affect the rows, without secrets. */
  settings: unknown
  cursor?: unknown
  writeMode?: WriteMode
}

/** The objects that are new or changed since the previous load, and those that are not. */
export interface ObjectIncrement {
  loadedBefore: LoadedObjects
  newObjects: StoredObject[]
  changedObjects: StoredObject[]
  unchangedObjects: StoredObject[]
}

/**
 * Returns the changes since the load that stored the cursor. Returns undefined if a full load is necessary: the cursor
 * is absent, the settings changed, an object was deleted, the row count of a changed object is unknown, or the key is
 * not a pattern and its single object changed. Throws the errors of `selectObjects`.
 */
export async function findIncrement(
  reading: ObjectReading,
  { key, settings, cursor }: ObjectsRequest,
  signal: AbortSignal,
): Promise<ObjectIncrement | undefined> {
  const loadedBefore = parseLoadedObjects(cursor, settings)
  if (!loadedBefore) return undefined
  const { isSingle, objects } = await selectObjects({ ...reading, key }, signal)
  const { newObjects, changedObjects, unchangedObjects, goneCount } = diffObjects(loadedBefore, objects)
  const hasRowCounts = changedObjects.every((object) => Object.hasOwn(loadedBefore.rows, object.key))
  if (goneCount > 0 || !hasRowCounts || (isSingle && changedObjects.length > 0)) return undefined
  return { loadedBefore, newObjects, changedObjects, unchangedObjects }
}

/**
 * Reads the objects that match a key pattern as one table. Throws `SourceProblem`, or the signal's reason after an
 * abort.
 */
export async function* readObjects(
  reading: ObjectReading,
  { key, settings, cursor }: ObjectsRequest,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const selection = await selectObjects({ ...reading, key, onPage: () => report.progress({}) }, signal)
  const { isSingle, objects } = selection
  const loadedBefore = parseLoadedObjects(cursor, settings)
  if (loadedBefore) logFullRead(loadedBefore, objects, report)
  if (!isSingle) report.log('INFO', 'LOW', describeSelection(selection, key))
  const rowCounts = new Map<string, number>()
  const rowStreams = isSingle
    ? readSingleObject(reading, objects[0]!, report, signal)
    : readObjectsAsOneTable(reading, { objects, hasPrimaryKey: false, rowCounts }, report, signal)
  for await (const rowStream of rowStreams)
    yield {
      ...rowStream,
      ...(!isSingle && { precedence: objectPrecedence }),
      cursor: () =>
        createLoadedObjects(settings, objects, isSingle ? [] : omitOwnColumns(rowStream.columns), rowCounts),
    }
}

/**
 * Reads the changed objects; the caller merges their rows. Yields nothing if nothing changed. A merge cannot remove
 * rows, so if an object has fewer rows than before, all objects are read and replace the table.
 */
export async function* readIncrement(
  reading: ObjectReading,
  settings: unknown,
  { loadedBefore, newObjects, changedObjects, unchangedObjects }: ObjectIncrement,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  report.log('INFO', 'LOW', describeObjectChanges({ newObjects, changedObjects, unchangedObjects }))
  const objectsToRead = sortByKey([...newObjects, ...changedObjects])
  if (objectsToRead.length === 0) return
  const rowCounts = new Map<string, number>()
  const findShorterObject = () => changedObjects.find(({ key }) => rowCounts.get(key)! < loadedBefore.rows[key]!)
  let readsAllObjects = false
  const unreadObjects = (): readonly StoredObject[] => {
    const shorterObject = findShorterObject()
    if (shorterObject === undefined) return []
    const text = `"${shorterObject.key}" has fewer rows than before, so all objects are read and replace the old rows.`
    if (!readsAllObjects) report.log('INFO', 'MEDIUM', text)
    readsAllObjects = true
    return unchangedObjects
  }
  const combined = {
    objects: objectsToRead,
    columnsBefore: loadedBefore.columns,
    hasPrimaryKey: true,
    rowCounts,
    unreadObjects,
  }
  for await (const rowStream of readObjectsAsOneTable(reading, combined, report, signal)) {
    const cursor = () => {
      const rows = new Map([...Object.entries(loadedBefore.rows), ...rowCounts])
      return createLoadedObjects(
        settings,
        [...unchangedObjects, ...objectsToRead],
        omitOwnColumns(rowStream.columns),
        rows,
      )
    }
    yield { ...rowStream, cursor, whole: () => readsAllObjects }
  }
}

export async function* readSingleObject(
  reading: ObjectReading,
  object: StoredObject,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const { first: reportDownload, onSecondProgress } = splitProgress(report)
  const onProgress = (bytes: number) => reportDownload(bytes, object.size)
  const log: ReadReporter['log'] = (...line) => report.log(...line)
  using localObject = await fetchObject(reading, object, { log, onProgress }, signal)
  try {
    yield* readLocalObject(reading, localObject, { ...report, progress: onSecondProgress(localObject.size) }, signal)
  } catch (error) {
    if (!isEmptyListProblem(error) || reading.columnsBefore.length === 0) throw error
    yield emptyRowStream('', [...reading.columnsBefore])
  }
}

const formatIsOrAre = (amount: number): string => (amount === 1 ? 'is' : 'are')
const formatObjectCount = (amount: number): string => `${formatCount(amount, 'object')} ${formatIsOrAre(amount)}`

function describeSelection({ objects, emptyCount }: SelectedObjects, key: string): string {
  const emptyText = emptyCount > 0 ? `; ${emptyCount} more ${formatIsOrAre(emptyCount)} empty and omitted` : ''
  const bytes = objects.reduce((sum, { size }) => sum + size, 0)
  return `${formatCount(objects.length, 'object')} of ${bytes} bytes in all ${objects.length === 1 ? 'matches' : 'match'} "${key}"${emptyText}.`
}

function logFullRead(loadedBefore: LoadedObjects, objects: readonly StoredObject[], report: ReadReporter): void {
  const { newObjects, changedObjects, goneCount } = diffObjects(loadedBefore, objects)
  if (changedObjects.length + goneCount === 0) return
  const message = `Since the last load, ${formatCount(changedObjects.length, 'object')} changed, ${goneCount} ${formatIsOrAre(goneCount)} gone and ${newObjects.length} ${formatIsOrAre(newObjects.length)} new: all objects are read and replace the old rows.`
  report.log('INFO', 'MEDIUM', message)
}

/** The cursor of a load. The next load uses it to find changed objects. */
export interface LoadedObjects {
  /** A hash of the settings. If the settings change, everything is loaded again. */
  settings: string
  /** The version of each object, by key. */
  objects: Record<string, string>
  /** The row count of each object, by key. An object is absent if its rows were not counted. */
  rows: Record<string, number>
  columns: Column[]
}

/** The difference between the objects in the store and the objects of the previous load. */
interface ObjectDifferences {
  newObjects: StoredObject[]
  changedObjects: StoredObject[]
  /** Objects that did not change. */
  unchangedObjects: StoredObject[]
  goneCount: number
}

export function createLoadedObjects(
  settings: unknown,
  objects: readonly StoredObject[],
  columns: Column[],
  rows: ReadonlyMap<string, number>,
): LoadedObjects {
  const versions = objects.map((object) => [object.key, getObjectVersion(object)])
  return {
    settings: hashReadSettings(settings),
    objects: Object.fromEntries(versions),
    rows: Object.fromEntries(rows),
    columns,
  }
}

/** Parses the cursor of a load. Returns undefined if the settings have changed. */
function parseLoadedObjects(cursor: unknown, settings: unknown): LoadedObjects | undefined {
  const { settings: settingsHash, objects, rows = {}, columns } = (cursor ?? {}) as Partial<LoadedObjects>
  if (settingsHash !== hashReadSettings(settings) || typeof objects !== 'object' || !Array.isArray(columns))
    return undefined
  return { settings: settingsHash, objects, rows, columns }
}

export function diffObjects(
  loadedBefore: Pick<LoadedObjects, 'objects'>,
  objects: readonly StoredObject[],
): ObjectDifferences {
  const versionsByKey = new Map(Object.entries(loadedBefore.objects))
  const differences: ObjectDifferences = { newObjects: [], changedObjects: [], unchangedObjects: [], goneCount: 0 }
  for (const object of objects) {
    const loadedVersion = versionsByKey.get(object.key)
    // In cursors of Sluice 0.1, the version is only the ETag.
    if (loadedVersion === undefined) differences.newObjects.push(object)
    else if (loadedVersion === getObjectVersion(object) || loadedVersion === object.etag)
      differences.unchangedObjects.push(object)
    else differences.changedObjects.push(object)
    versionsByKey.delete(object.key)
  }
  return { ...differences, goneCount: versionsByKey.size }
}

/**
 * Returns the version of an object: its ETag (or else its size) and its modification time. The time is included because
 * writing the same content again keeps the ETag, but changes the column `_object_last_modified`.
 */
const getObjectVersion = ({ etag, size, lastModified }: StoredObject): string =>
  `${etag || size} ${lastModified.getTime()}`

export function describeObjectChanges({
  newObjects,
  changedObjects,
  unchangedObjects,
}: Pick<ObjectDifferences, 'newObjects' | 'changedObjects' | 'unchangedObjects'>): string {
  const changedText = changedObjects.length === 0 ? '' : `, ${changedObjects.length} changed`
  const unchangedCount = unchangedObjects.length
  return `${formatObjectCount(newObjects.length)} new${changedText}; ${unchangedCount} ${formatIsOrAre(unchangedCount)} unchanged.`
}

const hashReadSettings = (settings: unknown): string =>
  createHash('sha256').update(JSON.stringify(settings)).digest('base64url').slice(0, 22)
