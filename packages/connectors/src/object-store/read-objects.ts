import { formatCount, emptyRowStream, type RowStream, type Column, type ReadReporter } from '@sluice/row-stream'
import { splitProgress } from '@sluice/file-formats/upload/two-step-progress'
import { type SelectedObjects, selectObjects, sortByKey } from './select-objects.ts'
import type { StoredObject } from './object-store.ts'
import { type ObjectReadContext, fetchObject, isEmptyListProblem, readLocalObject } from './read-object.ts'
import { readObjectsAsOneTable } from './many-objects/read-objects-as-one-table.ts'
import { objectPrecedence, omitObjectColumns } from './many-objects/combined-table.ts'
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
  previousLoad: LoadedObjects
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
  context: ObjectReadContext,
  { key, settings, cursor }: ObjectsRequest,
  signal: AbortSignal,
): Promise<ObjectIncrement | undefined> {
  const previousLoad = parseLoadedObjects(cursor, settings)
  if (!previousLoad) return undefined
  const { isSingle, objects } = await selectObjects({ ...context, key }, signal)
  const { newObjects, changedObjects, unchangedObjects, deletedCount } = diffObjects(previousLoad, objects)
  if (deletedCount > 0) return undefined
  const hasSingleObjectChanged = isSingle && changedObjects.length > 0
  if (hasSingleObjectChanged) return undefined
  const areRowCountsKnown = changedObjects.every(({ key }) => Object.hasOwn(previousLoad.rows, key))
  if (!areRowCountsKnown) return undefined
  return { previousLoad, newObjects, changedObjects, unchangedObjects }
}

/**
 * Reads the objects that match the key: all of them as one table if it is a pattern, otherwise a single object. Throws
 * `SourceProblem`, or the signal's reason after an abort.
 */
export async function* readObjects(
  context: ObjectReadContext,
  { key, settings, cursor }: ObjectsRequest,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const selection = await selectObjects({ ...context, key, onPage: () => report.progress({}) }, signal)
  const { isSingle, objects } = selection
  const previousLoad = parseLoadedObjects(cursor, settings)
  if (previousLoad) logFullRead(previousLoad, objects, report)
  if (!isSingle) report.log('INFO', 'LOW', describeSelection(selection, key))
  if (isSingle) {
    const cursor = () => createLoadedObjects(settings, objects, [], new Map())
    for await (const rowStream of readSingleObject(context, objects[0]!, report, signal)) yield { ...rowStream, cursor }
    return
  }
  // Filled while the rows are read.
  const rowCounts = new Map<string, number>()
  const combinedRead = { objects, hasPrimaryKey: false, rowCounts }
  for await (const rowStream of readObjectsAsOneTable(context, combinedRead, report, signal)) {
    const columns = omitObjectColumns(rowStream.columns)
    const cursor = () => createLoadedObjects(settings, objects, columns, rowCounts)
    yield { ...rowStream, precedence: objectPrecedence, cursor }
  }
}

/**
 * Reads the new and changed objects. The caller merges their rows. Yields nothing if nothing changed. A merge cannot
 * remove rows, so if an object has fewer rows than before, all objects are read and replace the table.
 */
export async function* readIncrement(
  context: ObjectReadContext,
  settings: unknown,
  { previousLoad, newObjects, changedObjects, unchangedObjects }: ObjectIncrement,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  report.log('INFO', 'LOW', describeObjectChanges({ newObjects, changedObjects, unchangedObjects }))
  const objectsToRead = sortByKey([...newObjects, ...changedObjects])
  if (objectsToRead.length === 0) return
  // Filled while the rows are read.
  const rowCounts = new Map<string, number>()
  let readsAllObjects = false

  /**
   * Returns the unchanged objects if a changed object has fewer rows than before. Called after its rows are counted.
   */
  function findFurtherObjects(): readonly StoredObject[] {
    const shorterObject = changedObjects.find(({ key }) => rowCounts.get(key)! < previousLoad.rows[key]!)
    if (shorterObject === undefined) return []
    const text = `"${shorterObject.key}" has fewer rows than before, so all objects are read and replace the old rows.`
    if (!readsAllObjects) report.log('INFO', 'MEDIUM', text)
    readsAllObjects = true
    return unchangedObjects
  }

  const combinedRead = {
    objects: objectsToRead,
    previousColumns: previousLoad.columns,
    hasPrimaryKey: true,
    rowCounts,
    findFurtherObjects,
  }
  for await (const rowStream of readObjectsAsOneTable(context, combinedRead, report, signal)) {
    const columns = omitObjectColumns(rowStream.columns)
    const cursor = () => {
      const allObjects = [...unchangedObjects, ...objectsToRead]
      const allRowCounts = new Map([...Object.entries(previousLoad.rows), ...rowCounts])
      return createLoadedObjects(settings, allObjects, columns, allRowCounts)
    }
    yield { ...rowStream, cursor, whole: () => readsAllObjects }
  }
}

/**
 * Reads one object as a table. An empty JSON list has no columns, so the table then gets the columns of the previous
 * load. Throws EMPTY_SOURCE if this is the first load.
 */
export async function* readSingleObject(
  context: ObjectReadContext,
  object: StoredObject,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const { reportFirstHalf: reportDownload, createSecondReporter } = splitProgress(report)
  const onProgress = (bytes: number) => reportDownload(bytes, object.size)
  const log: ReadReporter['log'] = (...line) => report.log(...line)
  using localObject = await fetchObject(context, object, { log, onProgress }, signal)
  try {
    const readReport = { ...report, progress: createSecondReporter(localObject.size) }
    yield* readLocalObject(context, localObject, readReport, signal)
  } catch (error) {
    const canUsePreviousColumns = isEmptyListProblem(error) && context.previousColumns.length > 0
    if (!canUsePreviousColumns) throw error
    yield emptyRowStream('', [...context.previousColumns])
  }
}

const formatIsOrAre = (count: number): string => (count === 1 ? 'is' : 'are')
const formatObjectCount = (count: number): string => `${formatCount(count, 'object')} ${formatIsOrAre(count)}`

/** Describes the selected objects for the log. */
function describeSelection({ objects, emptyCount }: SelectedObjects, key: string): string {
  const emptyText = emptyCount > 0 ? `; ${emptyCount} more ${formatIsOrAre(emptyCount)} empty and omitted` : ''
  const totalBytes = objects.reduce((sum, { size }) => sum + size, 0)
  const verb = objects.length === 1 ? 'matches' : 'match'
  return `${formatCount(objects.length, 'object')} of ${totalBytes} bytes in all ${verb} "${key}"${emptyText}.`
}

/** Logs why all objects are read although there is a cursor. Logs nothing if no object was changed or deleted. */
function logFullRead(previousLoad: LoadedObjects, objects: readonly StoredObject[], report: ReadReporter): void {
  const { newObjects, changedObjects, deletedCount } = diffObjects(previousLoad, objects)
  if (changedObjects.length + deletedCount === 0) return
  const message = `Since the last load, ${formatCount(changedObjects.length, 'object')} changed, ${deletedCount} ${formatIsOrAre(deletedCount)} gone and ${newObjects.length} ${formatIsOrAre(newObjects.length)} new: all objects are read and replace the old rows.`
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
  unchangedObjects: StoredObject[]
  deletedCount: number
}

/** Creates the cursor of a load. */
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

/** Parses the cursor of the previous load. Returns undefined without a cursor, or if the settings have changed. */
function parseLoadedObjects(cursor: unknown, settings: unknown): LoadedObjects | undefined {
  const { settings: settingsHash, objects, rows = {}, columns } = (cursor ?? {}) as Partial<LoadedObjects>
  if (settingsHash !== hashReadSettings(settings)) return undefined
  if (typeof objects !== 'object' || !Array.isArray(columns)) return undefined
  return { settings: settingsHash, objects, rows, columns }
}

/** Compares the objects in the store with those of the previous load. */
export function diffObjects(
  previousLoad: Pick<LoadedObjects, 'objects'>,
  objects: readonly StoredObject[],
): ObjectDifferences {
  const versionsByKey = new Map(Object.entries(previousLoad.objects))
  const differences: ObjectDifferences = { newObjects: [], changedObjects: [], unchangedObjects: [], deletedCount: 0 }
  for (const object of objects) {
    const loadedVersion = versionsByKey.get(object.key)
    // In cursors of Sluice 0.1, the version is only the ETag.
    const isUnchanged = loadedVersion === getObjectVersion(object) || loadedVersion === object.etag
    if (loadedVersion === undefined) differences.newObjects.push(object)
    else if (isUnchanged) differences.unchangedObjects.push(object)
    else differences.changedObjects.push(object)
    versionsByKey.delete(object.key)
  }
  // The remaining keys belong to objects that no longer exist.
  return { ...differences, deletedCount: versionsByKey.size }
}

/**
 * Returns the version of an object: its ETag (or else its size) and its modification time. The time is included because
 * writing the same content again keeps the ETag, but changes the column `_object_last_modified`.
 */
const getObjectVersion = ({ etag, size, lastModified }: StoredObject): string =>
  `${etag || size} ${lastModified.getTime()}`

/** Describes the number of new, changed and unchanged objects for the log. */
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
