import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { ZipFile } from 'yazl'
import { type CellText, type ExportedColumn, UnencodableValueError } from './exported-column.ts'

/** The maximum rows of a sheet, including its header. */
const maxSheetRows = 1_048_576
const maxSheetColumns = 16_384
/** The maximum characters of a cell (https://support.microsoft.com/office/excel-specifications-and-limits). */
const maxCellLength = 32_767
/** Excel keeps 15 significant digits of a number. Longer integers, which may be codes, are stored as text. */
const exactDigits = 15

const numberTypes = new Set(['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL', 'FLOAT', 'DOUBLE'])
const [dateStyle, timestampStyle] = [1, 2]

/**
 * Writes rows as a workbook with one sheet. Numbers, booleans and dates have their Excel types, and texts are never
 * formulas. The caller must read `output` while it writes.
 */
export class WorkbookWriter {
  readonly output: NodeJS.ReadableStream
  readonly #columns: readonly ExportedColumn[]
  readonly #sheet = new PassThrough()
  /** The number of rows of the sheet until now, including its header. 0 before the header is written. */
  #rows = 0

  /** Creates a writer. Throws UnencodableValueError for more columns than a sheet can have. */
  constructor(columns: readonly ExportedColumn[]) {
    if (columns.length > maxSheetColumns)
      throw new UnencodableValueError(
        `The result has ${columns.length} columns, and a sheet of Excel has at most 16,384. Export it as CSV.`,
      )
    this.#columns = columns
    const zip = new ZipFile()
    for (const [name, xml] of Object.entries(fixedParts)) zip.addBuffer(Buffer.from(xml), name, { mtime })
    zip.addReadStream(this.#sheet, 'xl/worksheets/sheet1.xml', { mtime })
    zip.end()
    this.output = zip.outputStream
  }

  /**
   * Writes rows, and the header before the first ones. `cells` has the values of each column. Resolves when more rows
   * can be written. Throws UnencodableValueError for a row or value that a sheet cannot store.
   */
  async write(cells: readonly (readonly CellText[])[]): Promise<void> {
    let xml = this.#rows === 0 ? this.#sheetHead() : ''
    const rows = cells[0]!.length
    for (let row = 0; row < rows; row += 1) {
      this.#rows += 1
      if (this.#rows > maxSheetRows)
        throw new UnencodableValueError(
          'The result has more than 1,048,575 rows, the limit of a sheet of Excel. Export it as CSV or Parquet, or select fewer rows.',
        )
      xml += '<row>'
      for (let index = 0; index < cells.length; index += 1) xml += cellXml(cells[index]![row]!, this.#columns[index]!)
      xml += '</row>'
    }
    await this.#send(xml)
  }

  /** Completes the workbook. Writes the header without rows. */
  async end(): Promise<void> {
    const head = this.#rows === 0 ? this.#sheetHead() : ''
    await this.#send(`${head}</sheetData></worksheet>`)
    this.#sheet.end()
  }

  /** Returns the start of the sheet with its header, and counts the header as a row. */
  #sheetHead(): string {
    this.#rows = 1
    const header = this.#columns.map(({ name }) => textCell(name)).join('')
    return `${xmlHeader}<worksheet xmlns="${spreadsheetNamespace}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData><row>${header}</row>`
  }

  async #send(xml: string): Promise<void> {
    if (this.#sheet.write(xml)) return
    await once(this.#sheet, 'drain')
  }
}

/**
 * Returns a cell as XML. Numbers and times that Excel cannot represent exactly become text. Throws
 * UnencodableValueError if a text is too long for a cell.
 */
function cellXml(cell: CellText, { name, dataType }: ExportedColumn): string {
  if (cell === null) return '<c/>'
  if (numberTypes.has(dataType)) {
    const isInteger = !/[.e]/i.test(cell)
    const isLongInteger = isInteger && cell.replace(/^-?0*/, '').length > exactDigits
    const isExcelNumber = !isLongInteger && Number.isFinite(Number(cell))
    return isExcelNumber ? `<c><v>${cell}</v></c>` : textCell(cell)
  }
  if (dataType === 'BOOLEAN') return `<c t="b"><v>${cell === 'true' ? 1 : 0}</v></c>`
  if (dataType === 'DATE' || dataType === 'TIMESTAMP' || dataType === 'TIMESTAMPTZ') {
    const serial = findSerialDate(cell)
    const style = dataType === 'DATE' ? dateStyle : timestampStyle
    if (serial !== undefined) return `<c s="${style}"><v>${serial}</v></c>`
  }
  if (cell.length > maxCellLength)
    throw new UnencodableValueError(
      `A value of column "${name}" has ${cell.length} characters, and a cell of Excel has at most 32,767. Export the rows as CSV or Parquet.`,
    )
  return textCell(cell)
}

const firstSerialDay = Date.UTC(1899, 11, 30)
/** Excel counts a 29 February 1900, which did not exist, so earlier dates become texts. */
const firstExactDate = '1900-03-01'

/**
 * Returns the serial number of a date or time: its days since the start of Excel's calendar. Returns undefined for
 * dates before March 1900, years with more than four digits, and other texts.
 */
function findSerialDate(text: string): number | undefined {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:\+00)?)?$/.exec(text)
  if (!match || text < firstExactDate) return undefined
  const [, year, month, day, hour = 0, minute = 0, second = 0, fraction = ''] = match
  const dayStart = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const secondOfDay = Number(hour) * 3_600 + Number(minute) * 60 + Number(second)
  const milliseconds = dayStart + secondOfDay * 1_000
  return (milliseconds + Number(`0.${fraction || 0}`) * 1_000 - firstSerialDay) / 86_400_000
}

const textCell = (text: string): string =>
  `<c t="inlineStr"><is><t xml:space="preserve">${escapeXml(text)}</t></is></c>`

/**
 * Escapes a text for XML. Control characters and halves of surrogate pairs, which XML cannot contain, become `_xHHHH_`
 * (ECMA-376, ST_Xstring). The underscore of a text that already looks like this becomes `_x005F_`.
 */
function escapeXml(text: string): string {
  return text
    .replace(/_x[0-9A-Fa-f]{4}_/g, (character) => `_x005F${character}`)
    .replace(/[&<>]/g, (character) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[character]!)
    .replace(/\p{Cc}|\p{Cs}|[\ufffe\uffff]/gu, (character) => {
      if (character === '\t' || character === '\n') return character
      const hexDigits = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
      return `_x${hexDigits}_`
    })
}

/** The earliest possible time of a ZIP entry. With a fixed time, two exports of the same rows are identical files. */
const mtime = new Date(1980, 0, 1)
const xmlHeader = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const spreadsheetNamespace = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const officeRelations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const packageRelations = 'http://schemas.openxmlformats.org/package/2006/relationships'
const contentType = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

/** The parts of a workbook other than its sheet (ECMA-376, part 1). */
const fixedParts = {
  '[Content_Types].xml': `${xmlHeader}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${contentType}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${contentType}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${contentType}.styles+xml"/></Types>`,
  '_rels/.rels': `${xmlHeader}<Relationships xmlns="${packageRelations}"><Relationship Id="rId1" Type="${officeRelations}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml': `${xmlHeader}<workbook xmlns="${spreadsheetNamespace}" xmlns:r="${officeRelations}"><sheets><sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `${xmlHeader}<Relationships xmlns="${packageRelations}"><Relationship Id="rId1" Type="${officeRelations}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${officeRelations}/styles" Target="styles.xml"/></Relationships>`,
  'xl/styles.xml': `${xmlHeader}<styleSheet xmlns="${spreadsheetNamespace}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="1"><font/></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf/><xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/></cellXfs></styleSheet>`,
}
