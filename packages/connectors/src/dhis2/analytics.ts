import { declareColumns } from '../http-connector/declared-column.ts'
import { SourceProblem } from '@sluice/row-stream'
import { parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import type { SystemContext, RecordPage, RecordStream } from '../http-connector/http-system.ts'
import { type Dhis2Settings, parseValue, selectedObjects } from './dhis2-server-info.ts'

interface AnalyticsQuery {
  data: readonly string[]
  periods: readonly string[]
  units: readonly string[]
}

/** Returns the stream of aggregated values by data item, period and organisation unit, from DHIS2's analytics API. */
export async function createAnalyticsStream(context: SystemContext<Dhis2Settings>): Promise<RecordStream> {
  const { dataElements = [], periods = [], orgUnits = [] } = context.settings
  const key = periods.length > 0 ? ['dx', 'pe', 'ou'] : ['dx', 'ou']
  const units = orgUnits.length > 0 ? orgUnits : ['USER_ORGUNIT']
  return {
    name: 'analytics',
    key,
    columns: declareColumns('TEXT', [...key, 'dx_name', 'ou_name']),
    readPages: () => readAnalyticsPages(context, { data: dataElements, periods, units }),
  }
}

/**
 * Yields the result of an analytics query. The API has no paging, so a query that exceeds the row limit is split in
 * halves.
 */
async function* readAnalyticsPages(
  context: SystemContext<Dhis2Settings>,
  query: AnalyticsQuery,
): AsyncGenerator<RecordPage, void, void> {
  try {
    yield { records: await requestAnalytics(context, query) }
    return
  } catch (error) {
    const halves = isTooLarge(error) ? splitQuery(query) : undefined
    if (!halves) throw error
    context.log('INFO', 'LOW', 'The query exceeds the row limit of DHIS2, so it is split in two.')
    for (const half of halves) yield* readAnalyticsPages(context, half)
  }
}

async function requestAnalytics(
  { http, settings: { startDate, endDate, outputIdScheme } }: SystemContext<Dhis2Settings>,
  { data, periods, units }: AnalyticsQuery,
): Promise<object[]> {
  const hasPeriods = periods.length > 0
  const dimension = [
    `dx:${data.join(';')}`,
    ...(hasPeriods ? [`pe:${periods.join(';')}`] : []),
    `ou:${units.join(';')}`,
  ]
  const dateRange = hasPeriods ? {} : { startDate, endDate }
  const query = { dimension, outputIdScheme, ...dateRange }
  return parseGrid(await http.getJson('api/analytics.json', { query, subject: selectedObjects }))
}

/**
 * True if a query must be split: DHIS2 reported its row limit (E7128), or the response exceeds the memory limit of this
 * process (ANSWER_TOO_LARGE).
 */
const isTooLarge = (error: unknown): boolean =>
  error instanceof SourceProblem &&
  (error.code === 'ANSWER_TOO_LARGE' || /E7128|max(imum)? (number of )?records|exceeds/i.test(error.message))

/**
 * Splits a query in two: each query has one half of the items of the first dimension with several items. Returns
 * undefined if no dimension has several.
 */
function splitQuery(query: AnalyticsQuery): AnalyticsQuery[] | undefined {
  const dimension = (['data', 'periods', 'units'] as const).find((name) => query[name].length > 1)
  if (!dimension) return undefined
  const items = query[dimension]
  const middle = Math.floor(items.length / 2)
  return [items.slice(0, middle), items.slice(middle)].map((half) => ({ ...query, [dimension]: half }))
}

/**
 * Converts a DHIS2 grid of column headers and rows to records. Adds the names of the data item and the organisation
 * unit from the grid's metadata.
 */
function parseGrid(grid: unknown): object[] {
  const headers = parseList(grid, 'DHIS2', 'headers').map((header) => parseObject(header, 'DHIS2'))
  const { metaData = {} } = parseObject(grid, 'DHIS2')
  const { items = {} } = parseObject(metaData, 'DHIS2')
  const itemsById = parseObject(items, 'DHIS2') as Record<string, { name?: unknown } | undefined>
  const getName = (id: unknown) => (typeof id === 'string' ? toText(itemsById[id]?.name) : undefined)
  return parseList(grid, 'DHIS2', 'rows').map((row) => {
    const record: Record<string, unknown> = {}
    parseList(row, 'DHIS2').forEach((cell, index) => {
      const header = headers[index]
      const column = toText(header?.['name'])
      if (column && cell !== '')
        record[column] = typeof cell === 'string' ? parseValue(cell, header!['valueType']) : cell
    })
    return { ...record, dx_name: getName(record['dx']), ou_name: getName(record['ou']) }
  })
}
