import { type ReadReporter, type RowStream, SourceProblem } from '@sluice/row-stream'
import { objectKeyName, omitOwnColumns } from './many-objects/combined-table.ts'
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

/**
 * Reads the objects that are new or changed since the loads recorded in the cursor. The rows are appended or merged.
 * Rows of deleted objects stay in the table, so these objects stay in the cursor. A settings change does not make an
 * object new, because its rows are already in the table. Yields nothing if no object is new or changed. Throws the
 * errors of `readObjects`.
 */
export async function* readNewObjects(
  reading: ObjectReading,
  { key, settings, cursor }: ObjectsRequest,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const before = parseLoadedObjects(cursor)
  const selection = { ...reading, key, onPage: () => report.progress({}) }
  const { single, objects } = await selectObjects(selection, signal).catch((error: unknown) => {
    // Ignores that all loaded objects have been deleted, because their rows stay.
    const isEmptied = error instanceof SourceProblem && error.code === 'NO_OBJECTS' && before.columns.length > 0
    if (!isEmptied) throw error
    return { single: false, objects: [] }
  })
  const { newObjects, changed, unchangedObjects } = diffObjects(before, objects)
  report.log('INFO', 'LOW', describeObjectChanges({ newObjects, changed, unchangedObjects }))
  const objectsToRead = sortByKey([...newObjects, ...changed])
  if (objectsToRead.length === 0) return
  const counts = new Map<string, number>()
  const feeds = single
    ? readSingleObject(reading, objectsToRead[0]!, report, signal)
    : readObjectsAsOneTable(
        reading,
        { objects: objectsToRead, before: before.columns, keyed: false, counts },
        report,
        signal,
      )
  for await (const feed of feeds) {
    const cursor = (): LoadedObjects => {
      const columns = single ? [] : omitOwnColumns(feed.columns)
      const loaded = createLoadedObjects(settings, objectsToRead, columns, counts)
      return {
        ...loaded,
        objects: { ...before.objects, ...loaded.objects },
        rows: { ...before.rows, ...loaded.rows },
      }
    }
    const replaces = !single && changed.length > 0 && { replaces: objectKeyName }
    yield { ...feed, ...replaces, cursor }
  }
}

function parseLoadedObjects(cursor: unknown): Pick<LoadedObjects, 'objects' | 'rows' | 'columns'> {
  const { objects = {}, rows = {}, columns = [] } = (cursor ?? {}) as Partial<LoadedObjects>
  return { objects, rows, columns }
}
