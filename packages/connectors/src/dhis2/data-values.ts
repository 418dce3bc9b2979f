import { createResponseProblem } from '../http-connector/parse-response.ts'
import { csvRecords } from '../http-connector/csv-records.ts'
import { exactNumber } from '../http-connector/exact-json.ts'
import type { SystemContext, RecordPage, RecordStream } from '../http-connector/http-system.ts'
import type { KnownColumn } from '../http-connector/record-tables.ts'
import type { Dhis2Settings } from './dhis2.ts'
import { readServer, findUnits } from './server.ts'

/** JSON field names by CSV column names, which differ between versions. */
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
 * Reads the reported values. The API has no paging: each request is for a data set, a period and an organisation unit, and the response
 * is downloaded to disk. The format is CSV, which is the same in all versions; from 2.43 on, JSON omits the fields that all rows share.
 */
export async function dataValues({ http, settings }: SystemContext<Dhis2Settings>): Promise<RecordStream> {
  const { dataSets = [], dataElements = [], periods = [], startDate, endDate, outputIdScheme } = settings
  const server = await readServer(http)
  const units = await findUnits(http, settings.orgUnits)
  const spans = periods.length > 0 ? periods.map((period) => ({ period })) : monthsOf(startDate!, endDate!)
  const data = dataSets.length > 0 ? dataSets.map((dataSet) => ({ dataSet })) : [{ dataElement: dataElements }]

  async function* pages(cursor: unknown): AsyncGenerator<RecordPage, void, void> {
    const since = typeof cursor === 'string' ? { lastUpdated: cursor, includeDeleted: true } : {}
    for (const some of data)
      for (const span of spans)
        for (const orgUnit of units) {
          const query = { ...some, ...span, orgUnit, children: true, idScheme: outputIdScheme, ...since }
          using answer = await http.download('api/dataValueSets.csv', {
            query,
            headers: { accept: 'application/csv, text/csv' },
            subject: 'Something of what is to be loaded',
          })
          yield* recordsOf(answer.chunks(), server.isoCalendar)
        }
    yield { records: [], cursor: server.from }
  }
  return { name: 'data_values', key, columns, pages }
}

async function* recordsOf(chunks: AsyncIterable<Buffer>, isoCalendar: boolean): AsyncGenerator<RecordPage, void, void> {
  let header: (string | undefined)[] | undefined
  for await (const rows of csvRecords(chunks, { system: 'DHIS2' })) {
    let from = 0
    if (!header) {
      header = rows[0]!.map((name) => names[name.trim().toLowerCase()])
      from = 1
      if (!key.slice(0, 3).every((name) => header!.includes(name)))
        throw createResponseProblem('DHIS2', 'header of data values')
    }
    // Most units have no values in most periods; their responses contain only a header.
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

/** Splits a range of days, both inclusive, into parts of at most a month. */
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

/** A range of whole days, both inclusive, as `YYYY-MM-DD`. */
interface DatePeriod {
  type: string
  start: string
  end: string
}

const day = (time: number): string => new Date(time).toISOString().slice(0, 10)
const dayLength = 86_400_000

/** Returns the range of `count` months from the first day of a month (from 0). */
const months = (type: string, year: number, month: number, count: number): DatePeriod => ({
  type,
  start: day(Date.UTC(year, month, 1)),
  end: day(Date.UTC(year, month + count, 1) - dayLength),
})

/** First days of weeks, counted from Monday. */
const weekdays: Record<string, number> = { '': 0, Mon: 0, Wed: 2, Thu: 3, Sat: 5, Sun: 6 }

/** The first week is the one that contains the fourth of January. */
function weeks(type: string, year: number, week: number, from: number, count: number): DatePeriod {
  const fourth = new Date(Date.UTC(year, 0, 4))
  const since = (fourth.getUTCDay() + 6 - from + 7) % 7
  const start = fourth.getTime() - since * dayLength + (week - 1) * 7 * dayLength
  return { type, start: day(start), end: day(start + (count * 7 - 1) * dayLength) }
}

const firstMonths: Record<string, number> = { April: 3, July: 6, Sep: 8, Oct: 9, Nov: 10 }

type PeriodRule = [RegExp, (parts: string[]) => DatePeriod]

const rules: PeriodRule[] = [
  [
    /^(\d{4})(\d\d)(\d\d)$/,
    ([year, month, date]) => {
      const start = day(Date.UTC(Number(year), Number(month) - 1, Number(date)))
      return { type: 'Daily', start, end: start }
    },
  ],
  [
    /^(\d{4})(Mon|Wed|Thu|Sat|Sun)?W(\d{1,2})$/,
    ([year, from = '', week]) => weeks('Weekly', Number(year), Number(week), weekdays[from]!, 1),
  ],
  [/^(\d{4})BiW(\d{1,2})$/, ([year, week]) => weeks('BiWeekly', Number(year), Number(week) * 2 - 1, 0, 2)],
  [/^(\d{4})(\d\d)$/, ([year, month]) => months('Monthly', Number(year), Number(month) - 1, 1)],
  [/^(\d{4})(\d\d)B$/, ([year, pair]) => months('BiMonthly', Number(year), Number(pair) * 2 - 2, 2)],
  [/^(\d{4})Q([1-4])$/, ([year, quarter]) => months('Quarterly', Number(year), Number(quarter) * 3 - 3, 3)],
  [/^(\d{4})S([12])$/, ([year, half]) => months('SixMonthly', Number(year), Number(half) * 6 - 6, 6)],
  // The year is the one in which the first half starts in April; for November, the following year.
  [/^(\d{4})AprilS([12])$/, ([year, half]) => months('SixMonthlyApril', Number(year), Number(half) * 6 - 3, 6)],
  [/^(\d{4})NovS([12])$/, ([year, half]) => months('SixMonthlyNov', Number(year) - 1, Number(half) * 6 + 4, 6)],
  [/^(\d{4})$/, ([year]) => months('Yearly', Number(year), 0, 12)],
  [
    /^(\d{4})(April|July|Sep|Oct|Nov)$/,
    ([year, from]) => months(`Financial${from}`, Number(year), firstMonths[from!]!, 12),
  ],
]

/** Returns the dates of a period id in the ISO calendar; undefined for an invalid id. */
export function spanOf(period: string): DatePeriod | undefined {
  for (const [pattern, span] of rules) {
    const found = pattern.exec(period)
    if (found) return span(found.slice(1))
  }
  return undefined
}
