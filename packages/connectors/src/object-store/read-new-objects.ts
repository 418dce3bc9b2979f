import { type ReadReporter, type RowStream, SourceProblem } from '@sluice/row-stream'
import { objectKeyName, objectPrecedence, omitObjectColumns } from './many-objects/combined-table.ts'
import type { ObjectReadContext } from './read-object.ts'
import {
  createLoadedObjects,
  describeObjectChanges,
  diffObjects,
  type LoadedObjects,
  type ObjectsRequest,
  readSingleObject,
} from './read-objects.ts'
import { readObjectsAsOneTable } from './many-objects/read-objects-as-one-table.ts'
import { selectObjects, sortByKey } from './select-objects.ts'
import type { StoredObject } from './object-store.ts'

/**
 * Reads the objects that are new or changed since the loads recorded in the cursor. The rows are appended or merged.
 * Rows of deleted objects stay in the table, so these objects stay in the cursor. A settings change does not make an
 * object new, because its rows are already in the table. Yields nothing if no object is new or changed. Throws the
 * errors of `readObjects`.
 */
export async function* readNewObjects(
  context: ObjectReadContext,
  { key, settings, cursor, writeMode }: ObjectsRequest,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const previousLoad = parseLoadedObjects(cursor)
  const selection = { ...context, key, onPage: () => report.progress({}) }
  const { isSingle, objects } = await selectObjects(selection, signal).catch((error: unknown) => {
    // This error is ignored if all loaded objects have been deleted, because their rows stay.
    const hasNoObjects = error instanceof SourceProblem && error.code === 'NO_OBJECTS'
    const areAllDeleted = hasNoObjects && previousLoad.columns.length > 0
    if (!areAllDeleted) throw error
    return { isSingle: false, objects: [] }
  })
  const { newObjects, changedObjects, unchangedObjects } = diffObjects(previousLoad, objects)
  report.log('INFO', 'LOW', describeObjectChanges({ newObjects, changedObjects, unchangedObjects }))
  const objectsToRead = sortByKey([...newObjects, ...changedObjects])
  if (objectsToRead.length === 0) return
  if (writeMode === 'APPEND' && !isSingle) assertEarlierRowsKnown(previousLoad, changedObjects)
  const rowCounts = new Map<string, number>()
  const { columns: previousColumns } = previousLoad
  const combinedRead = { objects: objectsToRead, previousColumns, hasPrimaryKey: false, rowCounts }
  const rowStreams = isSingle
    ? readSingleObject(context, objectsToRead[0]!, report, signal)
    : readObjectsAsOneTable(context, combinedRead, report, signal)
  for await (const rowStream of rowStreams) {
    const cursor = (): LoadedObjects => {
      const columns = isSingle ? [] : omitObjectColumns(rowStream.columns)
      const currentLoad = createLoadedObjects(settings, objectsToRead, columns, rowCounts)
      return {
        ...currentLoad,
        objects: { ...previousLoad.objects, ...currentLoad.objects },
        rows: { ...omitRowCounts(previousLoad.rows, objectsToRead), ...currentLoad.rows },
      }
    }
    if (isSingle) {
      yield { ...rowStream, cursor }
      continue
    }
    const replacesRows = changedObjects.length > 0
    const replacement = replacesRows ? { replaceByColumn: objectKeyName } : {}
    yield { ...rowStream, ...replacement, precedence: objectPrecedence, cursor }
  }
}

/**
 * Throws OBJECT_ROWS_UNKNOWN if a changed object was loaded as a single one. Its rows in the table then have no object
 * key, so its new rows cannot replace them, and the table would have both.
 */
function assertEarlierRowsKnown({ rows }: Pick<LoadedObjects, 'rows'>, changedObjects: readonly StoredObject[]): void {
  const objectWithoutCount = changedObjects.find(({ key }) => !Object.hasOwn(rows, key))
  if (!objectWithoutCount) return
  throw new SourceProblem(
    'OBJECT_ROWS_UNKNOWN',
    `"${objectWithoutCount.key}" changed, and its earlier rows cannot be replaced: they were loaded while it was the only object of the pipeline, so they have no ${objectKeyName}. The old data stays. Exclude the object from the key of the pipeline, or run once with "rebuild": true, which replaces all rows of the table by those of the objects that exist now.`,
  )
}

/**
 * Returns the row counts without those of the objects to read. The load of a single object counts no rows, so its old
 * count must not stay.
 */
function omitRowCounts(
  rowCounts: Readonly<Record<string, number>>,
  objectsToRead: readonly StoredObject[],
): Record<string, number> {
  const keys = new Set(objectsToRead.map(({ key }) => key))
  return Object.fromEntries(Object.entries(rowCounts).filter(([key]) => !keys.has(key)))
}

/** Returns the loads that the cursor records, whatever their settings were. They are empty without a cursor. */
function parseLoadedObjects(cursor: unknown): Pick<LoadedObjects, 'objects' | 'rows' | 'columns'> {
  const { objects = {}, rows = {}, columns = [] } = (cursor ?? {}) as Partial<LoadedObjects>
  return { objects, rows, columns }
}
