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
    const hasNoObjects = error instanceof SourceProblem && error.code === 'NO_OBJECTS'
    const isFirstLoad = previousLoad.columns.length === 0
    if (!hasNoObjects || isFirstLoad) throw error
    // All loaded objects have been deleted. Their rows stay, and nothing new is read.
    return { isSingle: false, objects: [] }
  })
  const { newObjects, changedObjects, unchangedObjects } = diffObjects(previousLoad, objects)
  report.log('INFO', 'LOW', describeObjectChanges({ newObjects, changedObjects, unchangedObjects }))
  const objectsToRead = sortByKey([...newObjects, ...changedObjects])
  if (objectsToRead.length === 0) return
  if (writeMode === 'APPEND' && !isSingle) assertEarlierRowsKnown(previousLoad, changedObjects)
  if (isSingle) {
    const [object] = objectsToRead
    for await (const rowStream of readSingleObject(context, object!, report, signal)) {
      const currentLoad = createLoadedObjects(settings, objectsToRead, [], new Map())
      yield { ...rowStream, cursor: () => addLoad(previousLoad, currentLoad) }
    }
    return
  }
  // Filled while the rows are read.
  const rowCounts = new Map<string, number>()
  const { columns: previousColumns } = previousLoad
  const combinedRead = { objects: objectsToRead, previousColumns, hasPrimaryKey: false, rowCounts }
  for await (const rowStream of readObjectsAsOneTable(context, combinedRead, report, signal)) {
    const columns = omitObjectColumns(rowStream.columns)
    const cursor = () => addLoad(previousLoad, createLoadedObjects(settings, objectsToRead, columns, rowCounts))
    const replacesRows = changedObjects.length > 0
    const replacement = replacesRows ? { replaceByColumn: objectKeyName } : {}
    yield { ...rowStream, ...replacement, precedence: objectPrecedence, cursor }
  }
}

/**
 * Returns the cursor for the objects of both loads. Objects of the current load lose their previous row counts, even if
 * the current load has no count, as for a single object.
 */
function addLoad(
  { objects, rows }: Pick<LoadedObjects, 'objects' | 'rows'>,
  currentLoad: LoadedObjects,
): LoadedObjects {
  const previousRows = Object.entries(rows).filter(([key]) => !Object.hasOwn(currentLoad.objects, key))
  return {
    ...currentLoad,
    objects: { ...objects, ...currentLoad.objects },
    rows: { ...Object.fromEntries(previousRows), ...currentLoad.rows },
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

/** Returns the loads that the cursor records, whatever their settings were. They are empty without a cursor. */
function parseLoadedObjects(cursor: unknown): Pick<LoadedObjects, 'objects' | 'rows' | 'columns'> {
  const { objects = {}, rows = {}, columns = [] } = (cursor ?? {}) as Partial<LoadedObjects>
  return { objects, rows, columns }
}
