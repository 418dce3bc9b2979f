import type { SourceChoice } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import { parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import type { QueryParameters } from '../http-connector/http-session.ts'
import { requestFittingPage } from '../http-connector/paging.ts'
import type { SystemContext, SettingsOf, HttpSystem } from '../http-connector/http-system.ts'
import { signInAsAccount } from './sign-in.ts'
import { isExact } from '../http-connector/exact-json.ts'
import type { RecordValue } from '../http-connector/flatten-record.ts'

type GoogleSheetsSettings = SettingsOf<'ONLINE_SPREADSHEET'>

const name = 'Google Sheets'
/**
 * Maximum cells and rows of one request: a cell takes some hundred bytes in the response, and Google allows sixty requests per minute.
 */
const [mostCells, mostRows] = [40_000, 4_000]
/** Limits for checking whether other tabs have rows: rows and columns of each tab, and number of tabs. */
const [firstRows, firstColumns, mostTabs] = [20, 26, 20]
/** The column with the row number in the sheet, as Google counts. */
const rowNumberColumn = '_row'

/** Google Sheets: the rows of one tab, or of a range of it. */
export const googleSheets: HttpSystem<GoogleSheetsSettings> = {
  name,

  connect({ spreadsheetSource: { url } }, { serviceAccountKey, authToken }) {
    // Pipelines can only be saved with Google's address; any other address is a server with a compatible API.
    const { origin, hostname } = URL.canParse(url) ? new URL(url) : { origin: url, hostname: '' }
    const own = hostname === 'docs.google.com' ? 'https://sheets.googleapis.com' : origin
    if (serviceAccountKey) return { url: own, signIn: (http) => signInAsAccount(http, serviceAccountKey) }
    if (authToken) return { url: own, headers: { 'x-goog-api-key': authToken } }
    throw new SourceProblem(
      'CREDENTIALS_MISSING',
      'There is nothing to sign in with: give the pipeline the key of a service account, or an API key for a spreadsheet that is open to everybody.',
    )
  },

  async test(asking) {
    const { sheet } = asking.settings
    const tabs = await listTabs(asking)
    if (sheet !== undefined) findTab(tabs, sheet)
  },

  lookup: (kind, asking) => (kind === 'sheets' ? choicesOf(asking) : undefined),

  async streams(asking) {
    const { sheet, range, headerRow = true } = asking.settings
    const tabs = await listTabs(asking)
    const tab = findTab(tabs, sheet)
    const unread = sheet === undefined ? await unreadTabs(asking, tabs, tab) : undefined
    const cells = cellsOf(tab, range)
    const windows = windowsOf(asking, tab, cells)
    // The first rows contain the names, which all further steps need.
    const first = (await windows.next()).value ?? { from: cells.fromRow, rows: [] }
    const named = headerRow ? first.rows.findIndex((row) => row.length > 0) : -1
    const header = first.rows[named] ?? []
    const nameAt = namesOf(header, [rowNumberColumn])
    const records = ({ from, rows }: RowWindow, skipped: number) =>
      rows.flatMap((row, index) => (index < skipped || row.length === 0 ? [] : [record(from + index, row, nameAt)]))
    return {
      name: tab.title,
      key: [rowNumberColumn],
      columns: [
        { path: rowNumberColumn, dataType: 'INTEGER' as const },
        ...header.flatMap((said, index) => (said === undefined ? [] : [{ path: nameAt(index) }])),
      ],
      // This connector writes dates as text.
      inferStrings: true,
      unreadWarning: unread,
      async *pages() {
        yield { records: records(first, named + 1) }
        for await (const window of windows) yield { records: records(window, 0) }
      },
    }
  },
}

function record(at: number, row: SheetRow, nameAt: (index: number) => string): object {
  const fields = row.flatMap((value, index) => (value === undefined ? [] : [[nameAt(index), value] as const]))
  return Object.fromEntries<unknown>([[rowNumberColumn, at], ...fields])
}

interface RowWindow {
  /** Row number in the sheet of the first row. */
  from: number
  /** Each row ends with its last non-empty cell. */
  rows: SheetRow[]
}

/** Yields all rows of a range in windows of some thousand rows, or fewer if a window exceeds the size limit. */
async function* windowsOf(
  asking: SystemContext<GoogleSheetsSettings>,
  tab: SheetTab,
  cells: CellRange,
): AsyncGenerator<RowWindow, void, void> {
  const width = cells.toColumn - cells.fromColumn + 1
  let most = Math.max(1, Math.min(mostRows, Math.floor(mostCells / width)))
  for (let from = cells.fromRow; from <= cells.toRow; ) {
    const begin = from
    const { answer, limit } = await requestFittingPage(most, async (some) => {
      const part = { ...cells, fromRow: begin, toRow: Math.min(cells.toRow, begin + some - 1) }
      const fields = 'sheets.data.rowData.values(effectiveValue,effectiveFormat.numberFormat.type)'
      return gridIn(await requestSpreadsheet(asking, { ranges: addressOf(tab, part), fields }))
    })
    most = limit
    yield { from: begin, rows: answer }
    from += limit
  }
}

/** Google omits empty cells and rows at the end, and empty lists. */
function gridIn(answer: unknown): SheetRow[] {
  const [sheet] = parseObject(answer, name)['sheets'] === undefined ? [] : parseList(answer, name, 'sheets')
  const [data] = memberOf(sheet, 'data')
  return memberOf(data, 'rowData').map((row) => {
    const values = memberOf(row, 'values').map(valueOf)
    return values.slice(0, values.findLastIndex((value) => value !== undefined) + 1)
  })
}

const memberOf = (object: unknown, key: string): readonly unknown[] => {
  const found = (object as Record<string, unknown> | null | undefined)?.[key]
  return Array.isArray(found) ? (found as unknown[]) : []
}

async function listTabs(asking: SystemContext<GoogleSheetsSettings>): Promise<SheetTab[]> {
  const fields = 'sheets.properties(sheetId,title,sheetType,gridProperties(rowCount,columnCount))'
  const answer = await requestSpreadsheet(asking, { fields })
  return parseList(answer, name, 'sheets').flatMap((one) => {
    const { sheetId, title, sheetType, gridProperties } = parseObject(parseObject(one, name)['properties'], name)
    // A tab can also be a chart, which has no cells.
    if (sheetType !== undefined && sheetType !== 'GRID') return []
    const { rowCount, columnCount } = parseObject(gridProperties ?? {}, name)
    const [called, rows, columns] = [toText(title), Number(rowCount ?? 0), Number(columnCount ?? 0)]
    return called === undefined ? [] : [{ id: toText(sheetId) ?? '0', title: called, rows, columns }]
  })
}

const choicesOf = async (asking: SystemContext<GoogleSheetsSettings>): Promise<SourceChoice[]> =>
  (await listTabs(asking)).map(({ id, title }) => ({ id, code: title, name: title }))

/** Returns a warning that names the other tabs with rows; undefined if no other tab has rows. */
async function unreadTabs(
  asking: SystemContext<GoogleSheetsSettings>,
  tabs: readonly SheetTab[],
  read: SheetTab,
): Promise<string | undefined> {
  const others = tabs.filter((tab) => tab !== read && tab.rows > 0 && tab.columns > 0).slice(0, mostTabs)
  if (others.length === 0) return undefined
  const ranges = others.map((tab) => {
    const [toRow, toColumn] = [Math.min(firstRows, tab.rows), Math.min(firstColumns, tab.columns)]
    return addressOf(tab, { fromRow: 1, toRow, fromColumn: 1, toColumn })
  })
  const fields = 'sheets(properties.title,data.rowData.values.effectiveValue)'
  const answer = await requestSpreadsheet(asking, { ranges, fields })
  const unread = memberOf(answer, 'sheets').filter((sheet) =>
    memberOf(sheet, 'data')
      .flatMap((data) => memberOf(data, 'rowData'))
      .some((row) => memberOf(row, 'values').some((cell) => parseObject(cell, name)['effectiveValue'] !== undefined)),
  )
  if (unread.length === 0) return undefined
  const named = unread.map((sheet) => `"${toText(parseObject(parseObject(sheet, name)['properties'], name)['title'])}"`)
  return `Only the sheet "${read.title}" was read. Sheets with rows that were not read: ${named.join(', ')}. Choose the sheet with the setting sheet.`
}

/** Returns the tab with this name, or the first tab. Throws `SourceProblem`. */
function findTab(tabs: readonly SheetTab[], sheet: string | undefined): SheetTab {
  const found = sheet === undefined ? tabs[0] : tabs.find(({ title }) => title === sheet)
  if (found) return found
  const there = tabs.slice(0, 20).map(({ title }) => `"${title}"`)
  throw new SourceProblem(
    'NOT_FOUND',
    `The spreadsheet has no sheet ${sheet === undefined ? 'with cells' : `"${sheet}"`}: it has ${there.join(', ') || 'none'}. Choose one of them.`,
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
    // Google responds with 400 to every request.
    if (!(error instanceof SourceProblem) || !/API key (not valid|expired)/i.test(error.message)) throw error
    throw new SourceProblem(
      'AUTHENTICATION_FAILED',
      'Google refuses the API key: check it, that it has not expired, and that it may be used for the Google Sheets API.',
      { cause: error },
    )
  }
}

/** Cells by position; undefined if they are empty. */
type SheetRow = readonly (RecordValue | undefined)[]

/** A cell as the API returns it. */
interface GridCell {
  effectiveValue?: { numberValue?: unknown; stringValue?: unknown; boolValue?: unknown }
  effectiveFormat?: { numberFormat?: { type?: unknown } }
}

const dayLength = 86_400_000
/** Date of serial 0. Google counts days continuously from it, unlike Excel. */
const dayZero = Date.UTC(1899, 11, 30)
/** Serials of the first and last day whose year has four digits. */
const [firstDay, lastDay] = [-693_593, 2_958_465]

/** The value of a cell: undefined for an empty cell, an empty text, and errors such as #N/A. */
function valueOf(cell: unknown): RecordValue | undefined {
  const { effectiveValue, effectiveFormat } = (cell ?? {}) as GridCell
  const { numberValue, stringValue, boolValue } = effectiveValue ?? {}
  if (typeof stringValue === 'string') return stringValue === '' ? undefined : stringValue
  if (typeof boolValue === 'boolean') return boolValue
  if (typeof numberValue !== 'number' && !(typeof numberValue === 'object' && numberValue && isExact(numberValue)))
    return undefined
  return asShown(Number(JSON.stringify(numberValue)), effectiveFormat?.numberFormat?.type) ?? numberValue
}

/**
 * Returns the text of a number that is formatted as a date or time; undefined for other numbers. Only the cell format
 * distinguishes them.
 */
function asShown(serial: number, type: unknown): string | undefined {
  if (type !== 'DATE' && type !== 'TIME' && type !== 'DATE_TIME') return undefined
  const total = Math.round(serial * dayLength)
  const day = Math.floor(total / dayLength)
  const clock = clockOf(total - day * dayLength)
  // A duration of a day or more is not a time of day.
  if (type === 'TIME') return day === 0 ? clock : undefined
  if (day < firstDay || day > lastDay) return undefined
  const date = new Date(dayZero + day * dayLength).toISOString().slice(0, 10)
  return type === 'DATE' && clock === '00:00:00' ? date : `${date} ${clock}`
}

function clockOf(time: number): string {
  const text = new Date(time).toISOString().slice(11, 23)
  return text.endsWith('.000') ? text.slice(0, 8) : text
}

/** Returns the column names by position: the text of the header row, with a number if it repeats, and `column_n` if it is empty. */
function namesOf(header: SheetRow, taken: readonly string[]): (index: number) => string {
  const names: string[] = []
  const used = new Set(taken)
  return (index) => {
    while (names.length <= index) {
      const cell = header[names.length] ?? ''
      const said = (typeof cell === 'string' ? cell.trim() : JSON.stringify(cell)) || `column_${names.length + 1}`
      let name = said
      for (let times = 2; used.has(name); times += 1) name = `${said}_${times}`
      used.add(name)
      names.push(name)
    }
    return names[index]!
  }
}

/** A tab of a spreadsheet that has cells. */
interface SheetTab {
  id: string
  title: string
  rows: number
  columns: number
}

/** Cells to read, in A1 numbering: from 1, both ends inclusive. */
interface CellRange {
  fromRow: number
  toRow: number
  fromColumn: number
  toColumn: number
}

const range = /^([A-Z]+)(\d*)(?::([A-Z]+)(\d*))?$/

/** Returns the cells of `A1:F500`, `B:D`, `C2` or `A2:F` that the tab has; the whole tab without a range. Throws `SourceProblem`. */
function cellsOf(tab: SheetTab, given?: string): CellRange {
  const { rows, columns } = tab
  if (given === undefined) return { fromRow: 1, toRow: rows, fromColumn: 1, toColumn: columns }
  const [, left = '', top = '', right = left, bottom = given.includes(':') ? '' : top] = range.exec(given) ?? []
  const cells = {
    fromRow: Math.max(1, Number(top)),
    toRow: Math.min(rows, bottom === '' ? rows : Number(bottom)),
    fromColumn: columnNumber(left),
    toColumn: Math.min(columns, columnNumber(right)),
  }
  if (left !== '' && cells.fromRow <= cells.toRow && cells.fromColumn <= cells.toColumn) return cells
  throw new SourceProblem(
    'RANGE_INVALID',
    `The sheet "${tab.title}" ends at ${letters(columns)}${rows}, so it has no cells in ${given}: write the upper left cell first, as in A1:F500.`,
  )
}

/** Returns the range in A1 notation: `'Tab'!A1:F500`. */
const addressOf = (tab: SheetTab, { fromRow, toRow, fromColumn, toColumn }: CellRange): string =>
  `'${tab.title.replaceAll("'", "''")}'!${letters(fromColumn)}${fromRow}:${letters(toColumn)}${toRow}`

const columnNumber = (name: string): number =>
  [...name].reduce((number, letter) => number * 26 + letter.charCodeAt(0) - 64, 0)

function letters(column: number): string {
  let name = ''
  for (let left = column; left > 0; left = Math.floor((left - 1) / 26))
    name = String.fromCharCode(65 + ((left - 1) % 26)) + name
  return name
}
