import { declareColumns, type KnownColumn } from '../http-connector/declared-column.ts'
import { formatUtcDay, splitIntoMonths } from '../http-connector/paging.ts'
import { createResponseProblem } from '../http-connector/parse-response.ts'
import { readCsvRows } from './csv-records.ts'
import { parseExactNumber } from '../http-connector/exact-json.ts'
import type { SystemContext, RecordPage, RecordStream } from '../http-connector/http-system.ts'
import { type Dhis2Settings, listUnitIds, readServerInfo, selectedObjects } from './dhis2-server-info.ts'

/** JSON field names by CSV column name in lower case. Column names differ between versions of DHIS2. */
const fieldNames: Readonly<Record<string, string>> = {
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

const requiredFields = ['dataElement', 'period', 'orgUnit']
const dataValueKey = [...requiredFields, 'categoryOptionCombo', 'attributeOptionCombo']

const dataValueColumns: KnownColumn[] = [
  ...declareColumns('TEXT', [...dataValueKey, 'value', 'storedBy', 'comment']),
  ...declareColumns('BOOLEAN', ['followup', 'deleted']),
]

/**
 * Returns the stream of reported data values. The API has no paging, so each request covers one data set, period and
 * organisation unit, and the response is downloaded to disk. Uses CSV, because DHIS2 2.43 and later omit from JSON the
 * fields that all rows share.
 */
export async function createValueStream({ http, settings }: SystemContext<Dhis2Settings>): Promise<RecordStream> {
  const { dataSets = [], dataElements = [], periods = [], startDate, endDate, outputIdScheme } = settings
  const server = await readServerInfo(http)
  const units = await listUnitIds(http, settings.orgUnits)
  const periodQueries =
    periods.length > 0
      ? periods.map((period) => ({ period }))
      : splitIntoMonths(startDate!, endDate!).map(({ start, end }) => ({ startDate: start, endDate: end }))
  const dataQueries = dataSets.length > 0 ? dataSets.map((dataSet) => ({ dataSet })) : [{ dataElement: dataElements }]

  async function* readPages(cursor: unknown): AsyncGenerator<RecordPage, void, void> {
    const since = typeof cursor === 'string' ? { lastUpdated: cursor, includeDeleted: true } : {}
    for (const data of dataQueries)
      for (const period of periodQueries)
        for (const orgUnit of units) {
          const query = { ...data, ...period, orgUnit, children: true, idScheme: outputIdScheme, ...since }
          using response = await http.download('api/dataValueSets.csv', {
            query,
            headers: { accept: 'application/csv, text/csv' },
            subject: selectedObjects,
          })
          yield* parseDataValues(response.chunks(), server.usesIsoCalendar)
        }
    yield { records: [], cursor: server.nextCursor }
  }
  return { name: 'data_values', key: dataValueKey, columns: dataValueColumns, readPages }
}

/** Parses the CSV of a response and yields its data values. Throws `SourceProblem` if the header is not as expected. */
async function* parseDataValues(
  chunks: AsyncIterable<Buffer>,
  usesIsoCalendar: boolean,
): AsyncGenerator<RecordPage, void, void> {
  let parsedHeader: readonly (string | undefined)[] | undefined
  for await (const rows of readCsvRows(chunks, { system: 'DHIS2' })) {
    const valueRows = parsedHeader ? rows : rows.slice(1)
    const header = parsedHeader ?? parseHeader(rows[0]!)
    parsedHeader = header
    // A response without values, which is frequent, contains only the header.
    if (valueRows.length > 0) yield { records: valueRows.map((row) => parseDataValue(row, header, usesIsoCalendar)) }
  }
}

/** Returns the field name of each CSV column, or undefined for a column that is not read. */
function parseHeader(row: readonly string[]): readonly (string | undefined)[] {
  const header = row.map((name) => fieldNames[name.trim().toLowerCase()])
  if (!requiredFields.every((name) => header.includes(name)))
    throw createResponseProblem('DHIS2', 'header of data values')
  return header
}

const booleanFields = new Set(['followup', 'deleted'])

/**
 * Converts a CSV row to a record. Adds the value as a number, and the type, start and end of the period, as far as they
 * can be parsed.
 */
function parseDataValue(
  row: readonly string[],
  header: readonly (string | undefined)[],
  usesIsoCalendar: boolean,
): object {
  const record: Record<string, unknown> = {}
  row.forEach((text, index) => {
    const name = header[index]
    if (name === undefined || text === '') return
    record[name] = booleanFields.has(name) ? text === 'true' : text
  })
  const { value, period } = record as { value?: string; period?: string }
  const dates = usesIsoCalendar && period !== undefined ? parsePeriod(period) : undefined
  return {
    ...record,
    valueNumber: value === undefined ? undefined : parseExactNumber(value),
    periodType: dates?.type,
    periodStart: dates?.start,
    periodEnd: dates?.end,
  }
}

/** A range of days, both inclusive, as `YYYY-MM-DD`. */
interface DatePeriod {
  type: string
  start: string
  end: string
}

const dayMs = 86_400_000

/** Returns the range of `count` months that starts with `month`, where 0 is January. */
const createMonthRange = (type: string, year: number, month: number, count: number): DatePeriod => ({
  type,
  start: formatUtcDay(Date.UTC(year, month, 1)),
  end: formatUtcDay(Date.UTC(year, month + count, 1) - dayMs),
})

/** For each weekly period type, the first day of the week as days after Monday. */
const weekdayOffsets: Record<string, number> = { '': 0, Mon: 0, Wed: 2, Thu: 3, Sat: 5, Sun: 6 }

/**
 * Returns the range of `count` weeks that starts with week number `week`. Weeks start `firstDay` days after Monday.
 * Week 1 is the week that contains 4 January, as in ISO 8601.
 */
function createWeekRange(type: string, year: number, week: number, firstDay: number, count: number): DatePeriod {
  const january4 = new Date(Date.UTC(year, 0, 4))
  const daysAfterMonday = (january4.getUTCDay() + 6) % 7
  const daysAfterFirstDay = (daysAfterMonday - firstDay + 7) % 7
  const startOfWeek1 = january4.getTime() - daysAfterFirstDay * dayMs
  const start = startOfWeek1 + (week - 1) * 7 * dayMs
  return { type, start: formatUtcDay(start), end: formatUtcDay(start + (count * 7 - 1) * dayMs) }
}

/** For each type of financial year, its first month, where 0 is January. */
const firstMonths: Record<string, number> = { April: 3, July: 6, Sep: 8, Oct: 9, Nov: 10 }

type PeriodRule = [pattern: RegExp, createPeriod: (groups: string[]) => DatePeriod]

/** The formats of period ids, each with a function that returns the range from the captured groups. */
const periodRules: PeriodRule[] = [
  [
    /^(\d{4})(\d\d)(\d\d)$/,
    ([year, month, date]) => {
      const start = formatUtcDay(Date.UTC(Number(year), Number(month) - 1, Number(date)))
      return { type: 'Daily', start, end: start }
    },
  ],
  [
    /^(\d{4})(Mon|Wed|Thu|Sat|Sun)?W(\d{1,2})$/,
    ([year, from = '', week]) => createWeekRange('Weekly', Number(year), Number(week), weekdayOffsets[from]!, 1),
  ],
  [/^(\d{4})BiW(\d{1,2})$/, ([year, week]) => createWeekRange('BiWeekly', Number(year), Number(week) * 2 - 1, 0, 2)],
  [/^(\d{4})(\d\d)$/, ([year, month]) => createMonthRange('Monthly', Number(year), Number(month) - 1, 1)],
  [/^(\d{4})(\d\d)B$/, ([year, pair]) => createMonthRange('BiMonthly', Number(year), Number(pair) * 2 - 2, 2)],
  [/^(\d{4})Q([1-4])$/, ([year, quarter]) => createMonthRange('Quarterly', Number(year), Number(quarter) * 3 - 3, 3)],
  [/^(\d{4})S([12])$/, ([year, half]) => createMonthRange('SixMonthly', Number(year), Number(half) * 6 - 6, 6)],
  // A half-year id contains the year in which its first half starts if that is in April. If the first half starts in
  // November, the id contains the following year.
  [
    /^(\d{4})AprilS([12])$/,
    ([year, half]) => createMonthRange('SixMonthlyApril', Number(year), Number(half) * 6 - 3, 6),
  ],
  [
    /^(\d{4})NovS([12])$/,
    ([year, half]) => createMonthRange('SixMonthlyNov', Number(year) - 1, Number(half) * 6 + 4, 6),
  ],
  [/^(\d{4})$/, ([year]) => createMonthRange('Yearly', Number(year), 0, 12)],
  [
    /^(\d{4})(April|July|Sep|Oct|Nov)$/,
    ([year, from]) => createMonthRange(`Financial${from}`, Number(year), firstMonths[from!]!, 12),
  ],
]

/** Parses a period id of the ISO calendar to its range of days. Returns undefined for an invalid id. */
export function parsePeriod(period: string): DatePeriod | undefined {
  for (const [pattern, createPeriod] of periodRules) {
    const match = pattern.exec(period)
    if (match) return createPeriod(match.slice(1))
  }
  return undefined
}
