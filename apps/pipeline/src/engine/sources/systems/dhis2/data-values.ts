import { strange } from '../http/answers.ts'
import { csvRecords } from '../tables/csv-records.ts'
import { exactNumber } from '../tables/exact-numbers.ts'
import type { Asking, Page, Stream } from '../system.ts'
import type { KnownColumn } from '../tables/table-spool.ts'
import type { Settings } from './dhis2.ts'
import { spanOf } from './periods.ts'
import { serverOf, unitsOf } from './server.ts'

/** What the columns are called in JSON, by what they are called in CSV, some of them differently in some versions. */
const names: Readonly<Record<string, string>> = {
  dataelement: 'dataElement',
  period: 'period',
  orgunit: 'orgUnit',
  categoryoptioncombo: 'categoryOptionCombo',
  catoptcombo: 'categoryOptionCombo',
  attributeoptioncombo: 'attributeOptionCombo',
  attroptcombo: 'attributeOptionCombo',
  value: 'value',
  storedby: 'storedBy',
  lastupdated: 'lastUpdated',
  comment: 'comment',
  followup: 'followup',
  flwup: 'followup',
  deleted: 'deleted',
}

const key = ['dataElement', 'period', 'orgUnit', 'categoryOptionCombo', 'attributeOptionCombo']

const columns: KnownColumn[] = [
  ...key.map((path) => ({ path, dataType: 'TEXT' as const })),
  { path: 'value', dataType: 'TEXT' },
  { path: 'storedBy', dataType: 'TEXT' },
  { path: 'comment', dataType: 'TEXT' },
  { path: 'followup', dataType: 'BOOLEAN' },
  { path: 'deleted', dataType: 'BOOLEAN' },
]

/**
 * Values as they were reported. There is no paging: they are asked by data set, period and organisation unit, and each answer goes to disk. As
 * CSV, which is the same in all versions, where JSON leaves out what all rows have in common from 2.43 on.
 */
export async function dataValues({ http, settings }: Asking<Settings>): Promise<Stream> {
  const { dataSets = [], dataElements = [], periods = [], startDate, endDate, outputIdScheme } = settings
  const server = await serverOf(http)
  const units = await unitsOf(http, settings.orgUnits)
  const spans = periods.length > 0 ? periods.map((period) => ({ period })) : monthsOf(startDate!, endDate!)
  const data = dataSets.length > 0 ? dataSets.map((dataSet) => ({ dataSet })) : [{ dataElement: dataElements }]

  async function* pages(cursor: unknown): AsyncGenerator<Page, void, void> {
    const since = typeof cursor === 'string' ? { lastUpdated: cursor, includeDeleted: true } : {}
    for (const some of data)
      for (const span of spans)
        for (const orgUnit of units) {
          const query = { ...some, ...span, orgUnit, children: true, idScheme: outputIdScheme, ...since }
          using answer = await http.download('api/dataValueSets.csv', {
            query,
            headers: { accept: 'application/csv, text/csv' },
            what: 'Something of what is to be loaded',
          })
          yield* recordsOf(answer.chunks(), server.isoCalendar)
        }
    yield { records: [], cursor: server.from }
  }
  return { name: 'data_values', key, columns, pages }
}

async function* recordsOf(chunks: AsyncIterable<Buffer>, isoCalendar: boolean): AsyncGenerator<Page, void, void> {
  let header: (string | undefined)[] | undefined
  for await (const rows of csvRecords(chunks, { system: 'DHIS2' })) {
    let from = 0
    if (!header) {
      header = rows[0]!.map((name) => names[name.trim().toLowerCase()])
      from = 1
      if (!key.slice(0, 3).every((name) => header!.includes(name))) throw strange('DHIS2', 'header of data values')
    }
    // Most units have no values of most periods: their answers are a header alone.
    if (rows.length > from) yield { records: rows.slice(from).map((row) => recordOf(row, header!, isoCalendar)) }
  }
}

function recordOf(row: readonly string[], header: readonly (string | undefined)[], isoCalendar: boolean): object {
  const record: Record<string, unknown> = {}
  row.forEach((value, index) => {
    const name = header[index]
    if (name && value !== '') record[name] = name === 'followup' || name === 'deleted' ? value === 'true' : value
  })
  const { value, period } = record as { value?: string; period?: string }
  const span = isoCalendar && period !== undefined ? spanOf(period) : undefined
  return {
    ...record,
    valueNumber: value === undefined ? undefined : exactNumber(value),
    periodType: span?.type,
    periodStart: span?.start,
    periodEnd: span?.end,
  }
}

/** Days in parts of a month at most, both ends counting. */
function monthsOf(startDate: string, endDate: string): { startDate: string; endDate: string }[] {
  const found: { startDate: string; endDate: string }[] = []
  for (let from = startDate; from <= endDate; ) {
    const [year, month] = from.split('-').map(Number) as [number, number]
    const last = new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10)
    found.push({ startDate: from, endDate: last < endDate ? last : endDate })
    from = new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10)
  }
  return found
}
