import { SourceProblem } from '@sluice/row-stream'
import { parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import type { SystemContext, RecordPage, RecordStream } from '../http-connector/http-system.ts'
import type { Dhis2Settings } from './dhis2.ts'
import { valueOf } from './server.ts'

interface AnalyticsQuery {
  data: readonly string[]
  periods: readonly string[]
  units: readonly string[]
}

/** Aggregated values by data, period and organisation unit. */
export async function analytics({ http, settings, log }: SystemContext<Dhis2Settings>): Promise<RecordStream> {
  const { dataElements = [], periods = [], orgUnits = [], startDate, endDate, outputIdScheme } = settings
  const key = periods.length > 0 ? ['dx', 'pe', 'ou'] : ['dx', 'ou']
  const columns = [...key, 'dx_name', 'ou_name'].map((path) => ({ path, dataType: 'TEXT' as const }))

  /** The API has a row limit instead of paging: larger queries are split in halves. */
  async function* ask(question: AnalyticsQuery): AsyncGenerator<RecordPage, void, void> {
    const { data, periods: times, units } = question
    const dimension = [
      `dx:${data.join(';')}`,
      ...(times.length > 0 ? [`pe:${times.join(';')}`] : []),
      `ou:${units.join(';')}`,
    ]
    const query = { dimension, outputIdScheme, ...(times.length === 0 && { startDate, endDate }) }
    try {
      yield {
        records: recordsOf(
          await http.getJson('api/analytics.json', { query, subject: 'Something of what is to be loaded' }),
        ),
      }
      return
    } catch (error) {
      const halves = isTooMuch(error) ? halvesOf(question) : undefined
      if (!halves) throw error
      log(
        'INFO',
        'LOW',
        'DHIS2 gives no more rows than that at once: it is asked for half of them, and then for the other half.',
      )
      for (const half of halves) yield* ask(half)
    }
  }

  const units = orgUnits.length > 0 ? orgUnits : ['USER_ORGUNIT']
  return { name: 'analytics', key, columns, pages: () => ask({ data: dataElements, periods, units }) }
}

/** E7128 is the row limit. A response can also exceed the memory limit. */
const isTooMuch = (error: unknown): boolean =>
  error instanceof SourceProblem &&
  (error.code === 'ANSWER_TOO_LARGE' || /E7128|max(imum)? (number of )?records|exceeds/i.test(error.message))

function halvesOf({ data, periods, units }: AnalyticsQuery): AnalyticsQuery[] | undefined {
  const half = (list: readonly string[]) => [list.slice(0, list.length / 2), list.slice(list.length / 2)]
  if (data.length > 1) return half(data).map((some) => ({ data: some, periods, units }))
  if (periods.length > 1) return half(periods).map((some) => ({ data, periods: some, units }))
  if (units.length > 1) return half(units).map((some) => ({ data, periods, units: some }))
  return undefined
}

/** Converts a grid, which consists of column headers and rows of texts, to records. */
function recordsOf(answer: unknown): object[] {
  const headers = parseList(answer, 'DHIS2', 'headers').map((header) => parseObject(header, 'DHIS2'))
  const { metaData = {} } = parseObject(answer, 'DHIS2')
  const { items = {} } = parseObject(metaData, 'DHIS2')
  const names = parseObject(items, 'DHIS2')
  const nameOf = (id: unknown) =>
    typeof id === 'string' ? toText((names[id] as { name?: unknown } | undefined)?.name) : undefined
  return parseList(answer, 'DHIS2', 'rows').map((row) => {
    const record: Record<string, unknown> = {}
    parseList(row, 'DHIS2').forEach((cell, index) => {
      const header = headers[index]
      const column = toText(header?.['name'])
      if (column && cell !== '') record[column] = typeof cell === 'string' ? valueOf(cell, header!['valueType']) : cell
    })
    return { ...record, dx_name: nameOf(record['dx']), ou_name: nameOf(record['ou']) }
  })
}
