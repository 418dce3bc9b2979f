import type { DataType } from '@sluice/contracts'
import { detectEndlessPaging } from '../http-connector/paging.ts'
import type { RecordPage, RecordStream } from '../http-connector/http-system.ts'
import { BadRecord } from '../http-connector/flatten-record.ts'
import { SeenKeys, type KnownColumn } from '../http-connector/record-tables.ts'
import type { ResourceView, ViewRow, ViewColumn } from './view-definition.ts'

/**
 * FHIR types whose values all fit a column type. Dates can have only a year or a month, so they stay text; number types are inferred.
 */
const dataTypes: ReadonlyMap<string, DataType> = new Map([
  ['boolean', 'BOOLEAN'],
  ['integer', 'INTEGER'],
  ['positiveInt', 'INTEGER'],
  ['unsignedInt', 'INTEGER'],
  ['integer64', 'BIGINT'],
  ['instant', 'TIMESTAMPTZ'],
])
const numberTypes = new Set(['decimal', 'http://hl7.org/fhirpath/System.Decimal'])

/** The table of a view. Its rows have no key, so it is always read completely. */
export const createViewStream = (view: ResourceView, pages: () => AsyncIterable<RecordPage>): RecordStream => ({
  name: view.name,
  key: [],
  columns: view.columns.map(createColumn),
  isStoredAsJson: () => true,
  async *pages() {
    // The rows have no key, so repeated resources are detected here. They occur, for example, after a search restarts.
    const seen = new SeenKeys()
    const checkPage = detectEndlessPaging('FHIR')
    for await (const { records } of pages()) {
      let hasNewRecords = false
      for (const resource of records) {
        const { id } = (resource ?? {}) as { id?: unknown }
        if (id !== undefined && !seen.add(JSON.stringify(id))) continue
        hasNewRecords = true
        // One resource at a time, because a resource can have very many rows.
        yield* readRows(view, resource)
      }
      checkPage(hasNewRecords)
    }
  },
})

function createColumn({ name, type }: ViewColumn): KnownColumn {
  const dataType = type === undefined || numberTypes.has(type) ? undefined : (dataTypes.get(type) ?? 'TEXT')
  return { path: name, always: true, ...(dataType && { dataType }) }
}

/** Number of rows that are converted to objects at once. */
const rowsPerPage = 500

/** Yields the rows of a resource. Rejects a resource whose rows cannot be created. */
function* readRows(view: ResourceView, resource: unknown): Generator<RecordPage, void, void> {
  let rows: readonly ViewRow[]
  try {
    rows = view.rows(resource)
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error
    const { id = 'without an id' } = (resource ?? {}) as { id?: unknown }
    return yield { records: [new BadRecord(`of ${view.resource} ${String(id)} ${error.message}`, error.path)] }
  }
  for (let from = 0; from < rows.length; from += rowsPerPage)
    yield { records: rows.slice(from, from + rowsPerPage).map((row) => createRecord(view, row)) }
}

const createRecord = ({ columns }: ResourceView, row: ViewRow): object =>
  Object.fromEntries(columns.map(({ name }, index) => [name, row[index]]))
