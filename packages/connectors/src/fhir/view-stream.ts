import type { DataType } from '@sluice/contracts'
import { detectEndlessPaging } from '../http-connector/paging.ts'
import type { RecordPage, RecordStream } from '../http-connector/http-system.ts'
import { BadRecord } from '../http-connector/flatten-record.ts'
import { SeenKeys, type KnownColumn } from '../http-connector/record-tables.ts'
import type { ResourceView, ViewRow, ViewColumn } from './view-definition.ts'

/**
 * FHIR types whose values all fit a column type. Dates can have only a year or a month, so they stay text; number types are inferred.
 */
const types: Readonly<Record<string, DataType>> = {
  boolean: 'BOOLEAN',
  integer: 'INTEGER',
  positiveInt: 'INTEGER',
  unsignedInt: 'INTEGER',
  integer64: 'BIGINT',
  instant: 'TIMESTAMPTZ',
}
const numbers = new Set(['decimal', 'http://hl7.org/fhirpath/System.Decimal'])

/** The table of a view. Its rows have no key, so it is always read completely. */
export const viewStream = (view: ResourceView, pages: () => AsyncIterable<RecordPage>): RecordStream => ({
  name: view.name,
  key: [],
  columns: view.columns.map(known),
  isStoredAsJson: () => true,
  async *pages() {
    // The rows have no key, so repeated resources are detected here. They occur, for example, after a search restarts.
    const seen = new SeenKeys()
    const ends = detectEndlessPaging('FHIR')
    for await (const { records } of pages()) {
      let brought = false
      for (const resource of records) {
        const { id } = (resource ?? {}) as { id?: unknown }
        if (id !== undefined && !seen.add(JSON.stringify(id))) continue
        brought = true
        // One resource at a time, because a resource can have very many rows.
        yield* rowsOf(view, resource)
      }
      ends(brought)
    }
  },
})

function known({ name, type }: ViewColumn): KnownColumn {
  const dataType =
    type === undefined || numbers.has(type) ? undefined : Object.hasOwn(types, type) ? types[type] : 'TEXT'
  return { path: name, always: true, ...(dataType && { dataType }) }
}

/** Number of rows that are converted to objects at once. */
const atOnce = 500

/** Yields the rows of a resource. Rejects a resource whose rows cannot be created. */
function* rowsOf(view: ResourceView, resource: unknown): Generator<RecordPage, void, void> {
  let rows: readonly ViewRow[]
  try {
    rows = view.rows(resource)
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error
    const { id = 'without an id' } = (resource ?? {}) as { id?: unknown }
    return yield { records: [new BadRecord(`of ${view.resource} ${String(id)} ${error.message}`, error.path)] }
  }
  for (let from = 0; from < rows.length; from += atOnce)
    yield { records: rows.slice(from, from + atOnce).map((row) => recordOf(view, row)) }
}

const recordOf = ({ columns }: ResourceView, row: ViewRow): object =>
  Object.fromEntries(columns.map(({ name }, at) => [name, row[at]]))
