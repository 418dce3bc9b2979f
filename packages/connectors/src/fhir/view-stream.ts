import type { DataType } from '@sluice/contracts'
import { createPagingCheck } from '../http-connector/paging.ts'
import type { RecordPage, RecordStream } from '../http-connector/http-system.ts'
import { BadRecord } from '../http-connector/records/flatten-record.ts'
import type { KnownColumn } from '../http-connector/declared-column.ts'
import { SeenKeys } from '../http-connector/records/seen-keys.ts'
import type { ResourceView, ViewRow, ViewColumn } from './view-definition.ts'

/**
 * Column types by FHIR type. Dates are left out, because a FHIR date can consist of only a year. Number types are
 * inferred from the values.
 */
const columnTypesByFhirType: ReadonlyMap<string, DataType> = new Map([
  ['boolean', 'BOOLEAN'],
  ['integer', 'INTEGER'],
  ['positiveInt', 'INTEGER'],
  ['unsignedInt', 'INTEGER'],
  ['integer64', 'BIGINT'],
  ['instant', 'TIMESTAMPTZ'],
])
const numberTypes = new Set(['decimal', 'http://hl7.org/fhirpath/System.Decimal'])

/**
 * Returns the stream of a view. Its rows have no key, so the view is always read completely. A resource that the server
 * returns twice, for example after a restarted search, adds its rows only once.
 */
export const createViewStream = (view: ResourceView, readResources: () => AsyncIterable<RecordPage>): RecordStream => ({
  name: view.name,
  key: [],
  columns: view.columns.map(createViewColumn),
  isStoredAsJson: () => true,
  async *readPages() {
    const seenIds = new SeenKeys()
    const isNew = (resource: unknown): boolean => {
      const { id } = (resource ?? {}) as { id?: unknown }
      return id === undefined || seenIds.add(JSON.stringify(id))
    }
    const assertPagingAdvances = createPagingCheck('FHIR')
    for await (const { records: resources } of readResources()) {
      const newResources = resources.filter(isNew)
      // Each resource is yielded separately, because one resource can have very many rows.
      for (const resource of newResources) yield* readViewRows(view, resource)
      assertPagingAdvances(newResources.length > 0)
    }
  },
})

/** Declares a column of a view. The type is inferred from the values if the view declares none or a decimal number. */
function createViewColumn({ name, type }: ViewColumn): KnownColumn {
  const isInferred = type === undefined || numberTypes.has(type)
  if (isInferred) return { path: name, isAlwaysCreated: true }
  return { path: name, isAlwaysCreated: true, dataType: columnTypesByFhirType.get(type) ?? 'TEXT' }
}

/** The maximum number of rows that are converted to records at once. */
const rowsPerPage = 500

/** Yields the rows of a resource, or rejects the resource if its rows cannot be created. */
function* readViewRows(view: ResourceView, resource: unknown): Generator<RecordPage, void, void> {
  let rows: readonly ViewRow[]
  try {
    rows = view.rows(resource)
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error
    const { id = 'without an id' } = (resource ?? {}) as { id?: unknown }
    const rejectedRecord = new BadRecord(`of ${view.resource} ${String(id)} ${error.message}`, error.path)
    yield { records: [rejectedRecord] }
    return
  }
  for (let from = 0; from < rows.length; from += rowsPerPage)
    yield { records: rows.slice(from, from + rowsPerPage).map((row) => createViewRecord(view, row)) }
}

const createViewRecord = ({ columns }: ResourceView, row: ViewRow): object =>
  Object.fromEntries(columns.map(({ name }, index) => [name, row[index]]))
