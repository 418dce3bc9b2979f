import type { DataType } from '@sluice/contracts'
import { detectEndlessPaging } from '../http/paging.ts'
import type { RecordPage, RecordStream } from '../system.ts'
import { BadRecord } from '../tables/flatten.ts'
import { SeenKeys } from '../tables/record-tables.ts'
import type { KnownColumn } from '../tables/table-spool.ts'
import type { ResourceView, ViewRow, ViewColumn } from './view-definition.ts'

/** Types of FHIR whose values all fit a type of columns. Dates may be of a year or a month, so they stay texts; numbers say themselves what they are. */
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
    // Without a key nothing else tells that a resource came before, as where a search has to begin anew.
    const seen = new SeenKeys()
    const ends = detectEndlessPaging('FHIR')
    for await (const { records } of pages()) {
      let brought = false
      for (const resource of records) {
        const { id } = (resource ?? {}) as { id?: unknown }
        if (id !== undefined && !seen.add(JSON.stringify(id))) continue
        brought = true
        // One by one: a resource may come to very many rows.
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

/** Rows that are objects at once. */
const atOnce = 500

/** A resource that comes to no rows as it should is set aside. */
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
