import { type ReadReporter, type RowStream, SourceProblem } from '@sluice/row-stream'
import { objectKeyName, objectPrecedence, omitOwnColumns } from './many-objects/combined-table.ts'
import type { ObjectReading } from './read-object.ts'
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
  reading: ObjectReading,
  { key, settings, cursor, writeMode }: ObjectsRequest,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const loadedBefore = parseLoadedObjects(cursor)
  const selection = { ...reading, key, onPage: () => report.progress({}) }
  const { isSingle, objects } = await selectObjects(selection, signal).catch((error: unknown) => {
    // Ignores that all loaded objects have been deleted, because their rows stay.
    const isEmptied = error instanceof SourceProblem && error.code === 'NO_OBJECTS' && loadedBefore.columns.length > 0
    if (!isEmptied) throw error
    return { isSingle: false, objects: [] }
  })
  const { newObjects, changedObjects, unchangedObjects } = diffObjects(loadedBefore, objects)
  report.log('INFO', 'LOW', describeObjectChanges({ newObjects, changedObjects, unchangedObjects }))
  const objectsToRead = sortByKey([...newObjects, ...changedObjects])
  if (objectsToRead.length === 0) return
  if (writeMode === 'APPEND' && !isSingle) assertEarlierRowsKnown(loadedBefore, changedObjects)
  const rowCounts = new Map<string, number>()
  const rowStreams = isSingle
    ? readSingleObject(reading, objectsToRead[0]!, report, signal)
    : readObjectsAsOneTable(
        reading,
        { objects: objectsToRead, columnsBefore: loadedBefore.columns, hasPrimaryKey: false, rowCounts },
        report,
        signal,
      )
  for await (const rowStream of rowStreams) {
    const cursor = (): LoadedObjects => {
      const columns = isSingle ? [] : omitOwnColumns(rowStream.columns)
      const loadedNow = createLoadedObjects(settings, objectsToRead, columns, rowCounts)
      return {
        ...loadedNow,
        objects: { ...loadedBefore.objects, ...loadedNow.objects },
        rows: { ...omitKeys(loadedBefore.rows, objectsToRead), ...loadedNow.rows },
      }
    }
    const replacedRows = !isSingle && changedObjects.length > 0 && { replaceByColumn: objectKeyName }
    yield { ...rowStream, ...replacedRows, ...(!isSingle && { precedence: objectPrecedence }), cursor }
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

/** Returns the counts without those of the objects, which a load as a single object does not count. */
const omitKeys = (rows: Readonly<Record<string, number>>, objects: readonly StoredObject[]) => {
  const keys = new Set(objects.map(({ key }) => key))
  return Object.fromEntries(Object.entries(rows).filter(([key]) => !keys.has(key)))
}

function parseLoadedObjects(cursor: unknown): Pick<LoadedObjects, 'objects' | 'rows' | 'columns'> {
  const { objects = {}, rows = {}, columns = [] } = (cursor ?? {}) as Partial<LoadedObjects>
  return { objects, rows, columns }
}
