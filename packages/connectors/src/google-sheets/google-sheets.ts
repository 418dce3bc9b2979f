import type { connectorTypes } from '@sluice/contracts/connector-types'
import type { SourceOption } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import { parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import type { QueryParameters } from '../http-connector/http-session.ts'
import { requestFittingPage } from '../http-connector/paging.ts'
import type { SystemContext, SettingsOf, HttpSystem } from '../http-connector/http-system-interface.ts'
import { signInAsServiceAccount } from './service-account-sign-in.ts'
import { isExactNumber } from '../http-connector/exact-json.ts'
import type { RecordValue } from '../http-connector/records/flatten-record.ts'

type GoogleSheetsSettings = SettingsOf<typeof connectorTypes.googleSheets>

const sheetsName = 'Google Sheets'
/**
 * The maximum cells and rows of one request. A cell takes some 100 bytes in the response. Requests are large, because
 * Google allows only 60 per minute.
 */
const [maxCells, maxRows] = [40_000, 4_000]
/** Limits for checking other tabs for unread rows: rows and columns per tab, and number of tabs. */
const [checkedRows, checkedColumns, maxCheckedTabs] = [20, 26, 20]
/** The column with the row number in the sheet, from 1. It is the key. */
const rowNumberColumn = '_row'

/** Reads the rows of one tab of a Google spreadsheet, or of a range in it. */
export const googleSheets: HttpSystem<GoogleSheetsSettings> = {
  name: sheetsName,

  connect({ spreadsheetSource: { url } }, { serviceAccountKey, authToken }) {
    // Saved pipelines always have Google's address. Another address is a test server with the same API.
    const { origin, hostname } = URL.canParse(url) ? new URL(url) : { origin: url, hostname: '' }
    const api = hostname === 'docs.google.com' ? 'https://sheets.googleapis.com' : origin
    if (serviceAccountKey) return { url: api, signIn: (http) => signInAsServiceAccount(http, serviceAccountKey) }
    if (authToken) return { url: api, headers: { 'x-goog-api-key': authToken } }
    throw new SourceProblem(
      'CREDENTIALS_MISSING',
      'The pipeline has no credentials. Enter the key of a service account, or an API key for a public spreadsheet.',
    )
  },

  async testConnection(context) {
    const { sheet } = context.settings
    const tabs = await listTabs(context)
    if (sheet !== undefined) findTab(tabs, sheet)
  },

  listOptions: (kind, context) => (kind === 'sheets' ? listSheetOptions(context) : undefined),

  async openStreams(context) {
    const { sheet, range, headerRow = true } = context.settings
    const tabs = await listTabs(context)
    const tab = findTab(tabs, sheet)
    const unreadWarning = sheet === undefined ? await describeUnreadTabs(context, tabs, tab) : undefined
    const cells = parseRange(tab, range)
    const rowWindows = readWindows(context, tab, cells)
    // Reads the first rows before it returns the stream, because they contain the column names.
    const firstWindow = (await rowWindows.next()).value ?? { firstRow: cells.fromRow, rows: [] }
    const headerIndex = headerRow ? firstWindow.rows.findIndex((row) => row.length > 0) : -1
    const header = firstWindow.rows[headerIndex] ?? []
    const getColumnName = createColumnNames(header, [rowNumberColumn])
    const createRecords = ({ firstRow, rows }: RowWindow, skippedRows: number) =>
      rows.flatMap((row, index) =>
        index < skippedRows || row.length === 0 ? [] : [createRowRecord(firstRow + index, row, getColumnName)],
      )
    return {
      name: tab.title,
      key: [rowNumberColumn],
      columns: [
        { path: rowNumberColumn, dataType: 'INTEGER' as const },
        ...header.flatMap((cell, index) => (cell === undefined ? [] : [{ path: getColumnName(index) }])),
      ],
      // Dates are converted to text below, so their type is inferred from texts.
      inferStrings: true,
      unreadWarning,
      async *readPages() {
        yield { records: createRecords(firstWindow, headerIndex + 1) }
        for await (const window of rowWindows) yield { records: createRecords(window, 0) }
      },
    }
  },
}

function createRowRecord(rowNumber: number, row: SheetRow, getColumnName: (index: number) => string): object {
  const fields = row.flatMap((value, index) => (value === undefined ? [] : [[getColumnName(index), value] as const]))
  return Object.fromEntries<unknown>([[rowNumberColumn, rowNumber], ...fields])
}

interface RowWindow {
  /** The number in the sheet of the first row, from 1. */
  firstRow: number
  /** Rows in order, without the empty cells at their end. */
  rows: SheetRow[]
}

/**
 * Yields all rows of a range in parts of at most 4,000 rows. Parts are smaller if a response exceeds the size limit.
 */
async function* readWindows(
  context: SystemContext<GoogleSheetsSettings>,
  tab: SheetTab,
  cells: CellRange,
): AsyncGenerator<RowWindow, void, void> {
  const width = cells.toColumn - cells.fromColumn + 1
  const fields = 'sheets.data.rowData.values(effectiveValue,effectiveFormat.numberFormat.type)'
  let limit = Math.max(1, Math.min(maxRows, Math.floor(maxCells / width)))
  for (let firstRow = cells.fromRow; firstRow <= cells.toRow; ) {
    const fromRow = firstRow
    const { page: rows, pageSize } = await requestFittingPage(limit, async (size) => {
      const window = { ...cells, fromRow, toRow: Math.min(cells.toRow, fromRow + size - 1) }
      return parseGrid(await requestSpreadsheet(context, { ranges: formatRange(tab, window), fields }))
    })
    limit = pageSize
    yield { firstRow, rows }
    firstRow += pageSize
  }
}

/**
 * Parses the rows of a response. Missing lists count as empty, because Google leaves out empty lists, and empty cells
 * and rows at the end.
 */
function parseGrid(response: unknown): SheetRow[] {
  const [sheet] =
    parseObject(response, sheetsName)['sheets'] === undefined ? [] : parseList(response, sheetsName, 'sheets')
  const [data] = listField(sheet, 'data')
  return listField(data, 'rowData').map((row) => {
    const values = listField(row, 'values').map(parseCell)
    return values.slice(0, values.findLastIndex((value) => value !== undefined) + 1)
  })
}

const listField = (object: unknown, key: string): readonly unknown[] => {
  const list = (object as Record<string, unknown> | null | undefined)?.[key]
  return Array.isArray(list) ? (list as unknown[]) : []
}

async function listTabs(context: SystemContext<GoogleSheetsSettings>): Promise<SheetTab[]> {
  const fields = 'sheets.properties(sheetId,title,sheetType,gridProperties(rowCount,columnCount))'
  const response = await requestSpreadsheet(context, { fields })
  return parseList(response, sheetsName, 'sheets').flatMap((item) => {
    const { sheetId, title, sheetType, gridProperties } = parseObject(
      parseObject(item, sheetsName)['properties'],
      sheetsName,
    )
    // Skips a tab that is a chart, which has no cells.
    if (sheetType !== undefined && sheetType !== 'GRID') return []
    const { rowCount, columnCount } = parseObject(gridProperties ?? {}, sheetsName)
    const [text, rows, columns] = [toText(title), Number(rowCount ?? 0), Number(columnCount ?? 0)]
    return text === undefined ? [] : [{ id: toText(sheetId) ?? '0', title: text, rows, columns }]
  })
}

const listSheetOptions = async (context: SystemContext<GoogleSheetsSettings>): Promise<SourceOption[]> =>
  (await listTabs(context)).map(({ id, title }) => ({ id, code: title, name: title }))

/** Returns a warning with the names of other tabs that have rows. Returns undefined if no other tab has rows. */
async function describeUnreadTabs(
  context: SystemContext<GoogleSheetsSettings>,
  tabs: readonly SheetTab[],
  readTab: SheetTab,
): Promise<string | undefined> {
  const otherTabs = tabs.filter((tab) => tab !== readTab && tab.rows > 0 && tab.columns > 0).slice(0, maxCheckedTabs)
  if (otherTabs.length === 0) return undefined
  const ranges = otherTabs.map((tab) => {
    const [toRow, toColumn] = [Math.min(checkedRows, tab.rows), Math.min(checkedColumns, tab.columns)]
    return formatRange(tab, { fromRow: 1, toRow, fromColumn: 1, toColumn })
  })
  const fields = 'sheets(properties.title,data.rowData.values.effectiveValue)'
  const response = await requestSpreadsheet(context, { ranges, fields })
  const sheetsWithRows = listField(response, 'sheets').filter((sheet) =>
    listField(sheet, 'data')
      .flatMap((data) => listField(data, 'rowData'))
      .some((row) =>
        listField(row, 'values').some((cell) => parseObject(cell, sheetsName)['effectiveValue'] !== undefined),
      ),
  )
  if (sheetsWithRows.length === 0) return undefined
  const titles = sheetsWithRows.map((sheet) =>
    toText(parseObject(parseObject(sheet, sheetsName)['properties'], sheetsName)['title']),
  )
  return `Only the sheet "${readTab.title}" was read. These sheets also have rows: ${titles.map((title) => `"${title}"`).join(', ')}. Select the sheet to read in the setting sheet.`
}

/** Returns the tab with this name. The default is the first tab. Throws `SourceProblem` if it does not exist. */
function findTab(tabs: readonly SheetTab[], sheet: string | undefined): SheetTab {
  const tab = sheet === undefined ? tabs[0] : tabs.find(({ title }) => title === sheet)
  if (tab) return tab
  const titles = tabs.slice(0, 20).map(({ title }) => `"${title}"`)
  throw new SourceProblem(
    'NOT_FOUND',
    `The spreadsheet has no sheet ${sheet === undefined ? 'with cells' : `"${sheet}"`}: it has ${titles.join(', ') || 'none'}. Choose one of them.`,
  )
}

async function requestSpreadsheet(
  { http, settings }: SystemContext<GoogleSheetsSettings>,
  query: QueryParameters,
): Promise<unknown> {
  const [, id = ''] = /\/d\/([\w-]+)/.exec(settings.spreadsheetSource.url) ?? []
  try {
    return await http.getJson(`v4/spreadsheets/${id}`, { query, subject: 'The spreadsheet' })
  } catch (error) {
    // For an invalid API key, Google responds with 400 instead of 401.
    if (!(error instanceof SourceProblem) || !/API key (not valid|expired)/i.test(error.message)) throw error
    throw new SourceProblem(
      'AUTHENTICATION_FAILED',
      'Google rejected the API key. Check that it is complete, has not expired, and is allowed to use the Google Sheets API.',
      { cause: error },
    )
  }
}

/** Cell values by position; an empty cell is undefined. */
type SheetRow = readonly (RecordValue | undefined)[]

/** A cell as the API returns it. */
interface GridCell {
  effectiveValue?: { numberValue?: unknown; stringValue?: unknown; boolValue?: unknown }
  effectiveFormat?: { numberFormat?: { type?: unknown } }
}

const dayMs = 86_400_000
/**
 * The date with serial number 0. Google counts real days from it. Excel also counts a 29 February 1900, which did not
 * exist.
 */
const serialDateEpoch = Date.UTC(1899, 11, 30)
/** Serial numbers of the first and last day with a year of four digits. */
const [firstDay, lastDay] = [-693_593, 2_958_465]

/** Returns the value of a cell. Returns undefined for an empty cell, an empty text, and an error such as #N/A. */
function parseCell(cell: unknown): RecordValue | undefined {
  const { effectiveValue, effectiveFormat } = (cell ?? {}) as GridCell
  const { numberValue, stringValue, boolValue } = effectiveValue ?? {}
  if (typeof stringValue === 'string') return stringValue === '' ? undefined : stringValue
  if (typeof boolValue === 'boolean') return boolValue
  if (
    typeof numberValue !== 'number' &&
    !(typeof numberValue === 'object' && numberValue && isExactNumber(numberValue))
  )
    return undefined
  return formatSerial(Number(JSON.stringify(numberValue)), effectiveFormat?.numberFormat?.type) ?? numberValue
}

/**
 * Formats a serial number as a date or time according to the cell's format. Returns undefined for all other formats.
 */
function formatSerial(serial: number, type: unknown): string | undefined {
  if (type !== 'DATE' && type !== 'TIME' && type !== 'DATE_TIME') return undefined
  const ms = Math.round(serial * dayMs)
  const day = Math.floor(ms / dayMs)
  const time = formatTime(ms - day * dayMs)
  // A duration of one day or longer is not a time of day, so it stays a number.
  if (type === 'TIME') return day === 0 ? time : undefined
  if (day < firstDay || day > lastDay) return undefined
  const date = new Date(serialDateEpoch + day * dayMs).toISOString().slice(0, 10)
  return type === 'DATE' && time === '00:00:00' ? date : `${date} ${time}`
}

function formatTime(ms: number): string {
  const text = new Date(ms).toISOString().slice(11, 23)
  return text.endsWith('.000') ? text.slice(0, 8) : text
}

/**
 * Returns a function from column position to column name. The name is the text in the header row; it gets a suffix such
 * as `_2` if it repeats, and is `column_n` if the cell is empty.
 */
function createColumnNames(header: SheetRow, reservedNames: readonly string[]): (index: number) => string {
  const names: string[] = []
  const usedNames = new Set(reservedNames)
  return (index) => {
    while (names.length <= index) {
      const cell = header[names.length] ?? ''
      const text = (typeof cell === 'string' ? cell.trim() : JSON.stringify(cell)) || `column_${names.length + 1}`
      let uniqueName = text
      for (let number = 2; usedNames.has(uniqueName); number += 1) uniqueName = `${text}_${number}`
      usedNames.add(uniqueName)
      names.push(uniqueName)
    }
    return names[index]!
  }
}

/** A tab with cells. */
interface SheetTab {
  id: string
  title: string
  rows: number
  columns: number
}

/** A range of rows and columns, counted from 1. Both ends are inclusive. */
interface CellRange {
  fromRow: number
  toRow: number
  fromColumn: number
  toColumn: number
}

const rangePattern = /^([A-Z]+)(\d*)(?::([A-Z]+)(\d*))?$/

/**
 * Parses a range such as `A1:F500`, `B:D`, `C2` or `A2:F` and limits it to the tab. Default: the whole tab. Throws
 * `SourceProblem` RANGE_INVALID.
 */
function parseRange(tab: SheetTab, range?: string): CellRange {
  const { rows, columns } = tab
  if (range === undefined) return { fromRow: 1, toRow: rows, fromColumn: 1, toColumn: columns }
  const [, leftCell = '', top = '', right = leftCell, bottom = range.includes(':') ? '' : top] =
    rangePattern.exec(range) ?? []
  const cells = {
    fromRow: Math.max(1, Number(top)),
    toRow: Math.min(rows, bottom === '' ? rows : Number(bottom)),
    fromColumn: parseColumnLetters(leftCell),
    toColumn: Math.min(columns, parseColumnLetters(right)),
  }
  if (leftCell !== '' && cells.fromRow <= cells.toRow && cells.fromColumn <= cells.toColumn) return cells
  throw new SourceProblem(
    'RANGE_INVALID',
    `The range ${range} has no cells of the sheet "${tab.title}", which ends at ${formatColumnLetters(columns)}${rows}. Enter the upper left cell first, as in A1:F500.`,
  )
}

/** Returns the range in A1 notation: `'Tab'!A1:F500`. */
const formatRange = (tab: SheetTab, { fromRow, toRow, fromColumn, toColumn }: CellRange): string =>
  `'${tab.title.replaceAll("'", "''")}'!${formatColumnLetters(fromColumn)}${fromRow}:${formatColumnLetters(toColumn)}${toRow}`

const parseColumnLetters = (name: string): number =>
  [...name].reduce((number, letter) => number * 26 + letter.charCodeAt(0) - 64, 0)

function formatColumnLetters(column: number): string {
  let letters = ''
  for (let remaining = column; remaining > 0; remaining = Math.floor((remaining - 1) / 26))
    letters = String.fromCharCode(65 + ((remaining - 1) % 26)) + letters
  return letters
}
