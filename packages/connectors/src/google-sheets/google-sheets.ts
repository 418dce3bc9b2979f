import type { connectorTypes } from '@sluice/contracts/connector-types'
import type { SourceOption } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import { parseObject, parseList, toArray, toText } from '../http-connector/parse-response.ts'
import type { QueryParameters } from '../http-connector/http-session.ts'
import { requestFittingPage } from '../http-connector/paging.ts'
import type { SystemContext, SettingsOf, HttpSystem } from '../http-connector/http-system.ts'
import { signInAsServiceAccount } from './service-account-sign-in.ts'
import { isExactNumber } from '../http-connector/exact-json.ts'
import type { RecordValue } from '../http-connector/records/flatten-record.ts'

type GoogleSheetsSettings = SettingsOf<typeof connectorTypes.googleSheets>

const sheetsName = 'Google Sheets'
/**
 * The maximum cells and rows of one request. A cell takes some 100 bytes in the response. Requests are large, because
 * Google allows only 60 per minute.
 */
const maxCells = 40_000
const maxRows = 4_000
/** The number of other tabs that are checked for unread rows, and the rows and columns that are checked of each. */
const maxCheckedTabs = 20
const checkedRows = 20
const checkedColumns = 26
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
    const getColumnName = createColumnNamer(header, [rowNumberColumn])
    const createRecords = ({ firstRow, rows }: RowWindow, skippedRows: number) =>
      rows.flatMap((row, index) => {
        const isSkipped = index < skippedRows || row.length === 0
        return isSkipped ? [] : [createRowRecord(firstRow + index, row, getColumnName)]
      })
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
 * Yields all rows of a range in windows of at most 4,000 rows. Windows are smaller if a response exceeds the size
 * limit.
 */
async function* readWindows(
  context: SystemContext<GoogleSheetsSettings>,
  tab: SheetTab,
  cells: CellRange,
): AsyncGenerator<RowWindow, void, void> {
  async function requestRows(fromRow: number, rowCount: number): Promise<SheetRow[]> {
    const window = { ...cells, fromRow, toRow: Math.min(cells.toRow, fromRow + rowCount - 1) }
    const fields = 'sheets.data.rowData.values(effectiveValue,effectiveFormat.numberFormat.type)'
    return parseGrid(await requestSpreadsheet(context, { ranges: formatRange(tab, window), fields }))
  }

  const columnCount = cells.toColumn - cells.fromColumn + 1
  let windowSize = Math.max(1, Math.min(maxRows, Math.floor(maxCells / columnCount)))
  let nextRow = cells.fromRow
  while (nextRow <= cells.toRow) {
    const firstRow = nextRow
    const { page: rows, pageSize } = await requestFittingPage(windowSize, (size) => requestRows(firstRow, size))
    yield { firstRow, rows }
    windowSize = pageSize
    nextRow += pageSize
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

/** Returns the list in a field, or an empty list if the field is missing. */
const listField = (object: unknown, key: string): readonly unknown[] =>
  toArray((object as Record<string, unknown> | null | undefined)?.[key])

/** Lists the tabs of the spreadsheet that have cells, in their order. */
async function listTabs(context: SystemContext<GoogleSheetsSettings>): Promise<SheetTab[]> {
  const fields = 'sheets.properties(sheetId,title,sheetType,gridProperties(rowCount,columnCount))'
  const response = await requestSpreadsheet(context, { fields })
  return parseList(response, sheetsName, 'sheets').flatMap((item) => {
    const { properties } = parseObject(item, sheetsName)
    const { sheetId, title, sheetType, gridProperties } = parseObject(properties, sheetsName)
    // Skips a tab that is a chart, which has no cells.
    if (sheetType !== undefined && sheetType !== 'GRID') return []
    const { rowCount, columnCount } = parseObject(gridProperties ?? {}, sheetsName)
    const tabTitle = toText(title)
    if (tabTitle === undefined) return []
    const id = toText(sheetId) ?? '0'
    return [{ id, title: tabTitle, rows: Number(rowCount ?? 0), columns: Number(columnCount ?? 0) }]
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
    const toRow = Math.min(checkedRows, tab.rows)
    const toColumn = Math.min(checkedColumns, tab.columns)
    return formatRange(tab, { fromRow: 1, toRow, fromColumn: 1, toColumn })
  })
  const fields = 'sheets(properties.title,data.rowData.values.effectiveValue)'
  const response = await requestSpreadsheet(context, { ranges, fields })
  const sheetsWithRows = listField(response, 'sheets').filter(hasFilledCells)
  if (sheetsWithRows.length === 0) return undefined
  const titles = sheetsWithRows.map((sheet) => {
    const { properties } = parseObject(sheet, sheetsName)
    return `"${toText(parseObject(properties, sheetsName)['title'])}"`
  })
  return `Only the sheet "${readTab.title}" was read. These sheets also have rows: ${titles.join(', ')}. Select the sheet to read in the setting sheet.`
}

/** True if the response contains a cell of the sheet that has a value. */
function hasFilledCells(sheet: unknown): boolean {
  const rows = listField(sheet, 'data').flatMap((data) => listField(data, 'rowData'))
  const cells = rows.flatMap((row) => listField(row, 'values'))
  return cells.some((cell) => parseObject(cell, sheetsName)['effectiveValue'] !== undefined)
}

/** Returns the tab `sheet`, or the first tab if `sheet` is undefined. Throws `SourceProblem` if it does not exist. */
function findTab(tabs: readonly SheetTab[], sheet: string | undefined): SheetTab {
  const tab = sheet === undefined ? tabs[0] : tabs.find(({ title }) => title === sheet)
  if (tab) return tab
  const titles = tabs.slice(0, 20).map(({ title }) => `"${title}"`)
  const missingSheet = sheet === undefined ? 'with cells' : `"${sheet}"`
  throw new SourceProblem(
    'NOT_FOUND',
    `The spreadsheet has no sheet ${missingSheet}: it has ${titles.join(', ') || 'none'}. Choose one of them.`,
  )
}

/** Requests the spreadsheet with these query parameters. Throws AUTHENTICATION_FAILED for an invalid API key. */
async function requestSpreadsheet(
  { http, settings }: SystemContext<GoogleSheetsSettings>,
  query: QueryParameters,
): Promise<unknown> {
  const [, id = ''] = /\/d\/([\w-]+)/.exec(settings.spreadsheetSource.url) ?? []
  try {
    return await http.getJson(`v4/spreadsheets/${id}`, { query, subject: 'The spreadsheet' })
  } catch (error) {
    // For an invalid API key, Google responds with 400 instead of 401.
    const isKeyRejected = error instanceof SourceProblem && /API key (not valid|expired)/i.test(error.message)
    if (!isKeyRejected) throw error
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
const firstDay = -693_593
const lastDay = 2_958_465

/**
 * Returns the value of a cell. A number with the format of a date or time is returned as text. Returns undefined for an
 * empty cell, an empty text, and an error such as #N/A.
 */
function parseCell(cell: unknown): RecordValue | undefined {
  const { effectiveValue, effectiveFormat } = (cell ?? {}) as GridCell
  const { numberValue, stringValue, boolValue } = effectiveValue ?? {}
  if (typeof stringValue === 'string') return stringValue === '' ? undefined : stringValue
  if (typeof boolValue === 'boolean') return boolValue
  if (!isNumberValue(numberValue)) return undefined
  const formattedDate = formatSerial(Number(JSON.stringify(numberValue)), effectiveFormat?.numberFormat?.type)
  return formattedDate ?? numberValue
}

/** True for a number, also if it is an object because JavaScript cannot represent it. */
const isNumberValue = (value: unknown): value is number | object =>
  typeof value === 'number' || (typeof value === 'object' && value !== null && isExactNumber(value))

/**
 * Formats a serial number (days since 30 December 1899) as a date or time according to the format of the cell. Returns
 * undefined for other formats, for durations of a day or longer, and for years without four digits.
 */
function formatSerial(serial: number, format: unknown): string | undefined {
  if (format !== 'DATE' && format !== 'TIME' && format !== 'DATE_TIME') return undefined
  const ms = Math.round(serial * dayMs)
  const day = Math.floor(ms / dayMs)
  const msOfDay = ms - day * dayMs
  const time = formatTime(msOfDay)
  if (format === 'TIME') {
    const isTimeOfDay = day === 0
    return isTimeOfDay ? time : undefined
  }
  if (day < firstDay || day > lastDay) return undefined
  const date = new Date(serialDateEpoch + day * dayMs).toISOString().slice(0, 10)
  const isDateOnly = format === 'DATE' && time === '00:00:00'
  return isDateOnly ? date : `${date} ${time}`
}

function formatTime(ms: number): string {
  const text = new Date(ms).toISOString().slice(11, 23)
  return text.endsWith('.000') ? text.slice(0, 8) : text
}

/**
 * Returns a function that returns the name of the column at a position from 0. The name is the text in the header row,
 * with a suffix such as `_2` if it repeats. It is `column_4` if the fourth cell of the header row is empty. Rows can
 * have more cells than the header, so columns are named one after another when they are needed.
 */
function createColumnNamer(header: SheetRow, reservedNames: readonly string[]): (index: number) => string {
  const names: string[] = []
  const usedNames = new Set(reservedNames)
  return (index) => {
    while (names.length <= index) {
      const cell = header[names.length] ?? ''
      const headerText = typeof cell === 'string' ? cell.trim() : JSON.stringify(cell)
      const name = headerText || `column_${names.length + 1}`
      let uniqueName = name
      for (let number = 2; usedNames.has(uniqueName); number += 1) uniqueName = `${name}_${number}`
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

const rangePattern = /^(?<left>[A-Z]+)(?<top>\d*)(?::(?<right>[A-Z]+)(?<bottom>\d*))?$/

/**
 * Parses a range such as `A1:F500`, `B:D`, `C2` or `A2:F` and limits it to the tab. Returns the whole tab without a
 * range. Throws `SourceProblem` RANGE_INVALID for an invalid range, or if the tab has no cells in the range.
 */
function parseRange(tab: SheetTab, range?: string): CellRange {
  const { rows, columns } = tab
  if (range === undefined) return { fromRow: 1, toRow: rows, fromColumn: 1, toColumn: columns }
  const groups = rangePattern.exec(range)?.groups
  // A single cell such as `C2` is its own lower right corner.
  const { left = '', top = '', right = left, bottom = top } = groups ?? {}
  const cells = {
    fromRow: Math.max(1, Number(top)),
    // The ranges `B:D` and `A2:F` end at the last row.
    toRow: bottom === '' ? rows : Math.min(rows, Number(bottom)),
    fromColumn: parseColumnLetters(left),
    toColumn: Math.min(columns, parseColumnLetters(right)),
  }
  const hasCells = cells.fromRow <= cells.toRow && cells.fromColumn <= cells.toColumn
  if (groups && hasCells) return cells
  throw new SourceProblem(
    'RANGE_INVALID',
    `The range ${range} has no cells of the sheet "${tab.title}", which ends at ${formatColumnLetters(columns)}${rows}. Enter the upper left cell first, as in A1:F500.`,
  )
}

/** Returns the range in A1 notation: `'Tab'!A1:F500`. */
function formatRange(tab: SheetTab, { fromRow, toRow, fromColumn, toColumn }: CellRange): string {
  const title = tab.title.replaceAll("'", "''")
  const upperLeft = `${formatColumnLetters(fromColumn)}${fromRow}`
  const lowerRight = `${formatColumnLetters(toColumn)}${toRow}`
  return `'${title}'!${upperLeft}:${lowerRight}`
}

/** Returns the number of a column: 1 for `A`, 28 for `AB`. */
const parseColumnLetters = (name: string): number =>
  [...name].reduce((number, letter) => number * 26 + letter.charCodeAt(0) - 64, 0)

/** Returns the letters of a column: `A` for 1, `AB` for 28. */
function formatColumnLetters(column: number): string {
  let letters = ''
  for (let remaining = column; remaining > 0; remaining = Math.floor((remaining - 1) / 26))
    letters = String.fromCharCode(65 + ((remaining - 1) % 26)) + letters
  return letters
}
