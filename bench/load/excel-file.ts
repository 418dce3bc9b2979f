import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeZip } from '../../packages/file-formats/src/upload/test/make-zip.ts'
import { seededRandom, type SeededRandom } from './data-files.ts'

/**
 * A column of a workbook: its type in PostgreSQL, and its values as CSV. The values follow from the type, as Excel
 * stores them.
 */
interface ExcelColumn {
  type: 'integer' | 'bigint' | 'numeric(8,2)' | 'boolean' | 'date' | 'timestamp' | 'text'
  value(row: number, random: SeededRandom): string
}

const firstDay = Date.UTC(2015, 0, 1)
const dayMs = 86_400_000
/** The serial number of the first of January 1970. */
const epochSerial = 25_569
const places = ['Oslo', 'Zürich', 'São Paulo', 'R&D "north"', 'Nairobi', 'Pune', 'Lima', 'Gent']
const cents = (random: SeededRandom) => (random.below(10_000_000) / 100).toFixed(2)
const date = (random: SeededRandom) => new Date(firstDay + random.below(4_000) * dayMs).toISOString().slice(0, 10)
const time = (random: SeededRandom) =>
  new Date(firstDay + random.below(4_000 * 86_400) * 1_000).toISOString().slice(0, 19).replace('T', ' ')
const sometimes = (value: ExcelColumn['value']): ExcelColumn['value'] => {
  return (row, random) => (random.below(10) === 0 ? '' : value(row, random))
}
const place: ExcelColumn['value'] = (_, random) => places[random.below(places.length)]!

/**
 * Twenty columns: half of them texts, shared and unique ones; the others numbers, dates, times and booleans; some
 * values missing.
 */
const columns: ExcelColumn[] = [
  { type: 'bigint', value: (row) => String(4_000_000_000 + row) },
  { type: 'text', value: (row) => `CASE-${String(row).padStart(8, '0')}` },
  { type: 'text', value: place },
  { type: 'text', value: sometimes(place) },
  { type: 'text', value: (_, random) => `district ${random.below(500)}` },
  { type: 'text', value: sometimes((_, random) => `note of ${random.below(50_000)}, in a sentence of some length`) },
  { type: 'text', value: (_, random) => `facility ${random.below(5_000)}` },
  { type: 'text', value: place },
  { type: 'text', value: (_, random) => `status ${random.below(5)}` },
  { type: 'text', value: sometimes((_, random) => `code ${random.below(1_000)}`) },
  { type: 'text', value: place },
  { type: 'integer', value: (_, random) => String(random.below(1_000_000)) },
  { type: 'integer', value: sometimes((_, random) => String(random.below(1_000_000))) },
  { type: 'numeric(8,2)', value: (_, random) => cents(random) },
  { type: 'numeric(8,2)', value: sometimes((_, random) => cents(random)) },
  { type: 'numeric(8,2)', value: (_, random) => cents(random) },
  { type: 'boolean', value: (_, random) => String(random.below(2) === 0) },
  { type: 'date', value: (_, random) => date(random) },
  { type: 'date', value: sometimes((_, random) => date(random)) },
  { type: 'timestamp', value: (_, random) => time(random) },
]
const nameOf = (column: number): string => `c${column}`

/** Column definitions of PostgreSQL. The type inference of Sluice must find the same types. */
export const excelColumns = columns.map(({ type }, index) => `${nameOf(index)} ${type}`)

/** Returns a workbook with this many rows, and a CSV file of the same rows. The files of an earlier run are reused. */
export async function createWorkbookFile(folder: string, rows: number): Promise<{ workbook: string; csv: string }> {
  const [workbook, csv] = [join(folder, `mixed-${rows}.xlsx`), join(folder, `mixed-${rows}.csv`)]
  if (await stat(workbook).catch(() => undefined)) return { workbook, csv }
  await mkdir(folder, { recursive: true })
  const random = seededRandom(20_261_127)
  const texts = new Map<string, number>()
  const header = columns.map((_, index) => nameOf(index))
  const lines = [header.join()]
  const xml = [
    rowXml(
      1,
      header.map((name) => sharedCell(name, texts)),
    ),
  ]
  for (let row = 1; row <= rows; row++) {
    const values = columns.map(({ value }) => value(row, random))
    lines.push(values.map(quote).join())
    xml.push(
      rowXml(
        row + 1,
        values.map((value, index) => cellOf(columns[index]!.type, value, texts)),
      ),
    )
  }
  await writeFile(csv, `${lines.join('\n')}\n`)
  await writeFile(workbook, packWorkbook(xml.join(''), [...texts.keys()]))
  return { workbook, csv }
}

const quote = (value: string): string => (/[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)

/** A cell without its reference: attributes and content. Undefined for a missing value. */
type CellXml = { attributes: string; value: string } | undefined

function cellOf(type: ExcelColumn['type'], value: string, texts: Map<string, number>): CellXml {
  if (value === '') return undefined
  if (type === 'text') return sharedCell(value, texts)
  if (type === 'boolean') return { attributes: ' t="b"', value: value === 'true' ? '1' : '0' }
  if (type === 'date' || type === 'timestamp') {
    const serial = Date.parse(type === 'date' ? value : `${value.replace(' ', 'T')}Z`) / dayMs + epochSerial
    return { attributes: type === 'date' ? ' s="1"' : ' s="2"', value: String(serial) }
  }
  return { attributes: '', value: String(Number(value)) }
}

function sharedCell(text: string, texts: Map<string, number>): CellXml {
  const index = texts.get(text) ?? texts.size
  texts.set(text, index)
  return { attributes: ' t="s"', value: String(index) }
}

/** At most 26 columns, so that each has one letter. */
function rowXml(number: number, cells: CellXml[]): string {
  const content = cells.map((cell, index) =>
    cell ? `<c r="${String.fromCharCode(65 + index)}${number}"${cell.attributes}><v>${cell.value}</v></c>` : '',
  )
  return `<row r="${number}">${content.join('')}</row>`
}

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const packageRelations = 'http://schemas.openxmlformats.org/package/2006/relationships'
const documentType = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

const escapeXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Returns a workbook with one sheet, in the form in which spreadsheet programs write it. */
function packWorkbook(rows: string, texts: string[]): Buffer {
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${relations}/${type}" Target="${target}"/>`
  const override = (part: string, type: string) =>
    `<Override PartName="/xl/${part}" ContentType="${documentType}.${type}+xml"/>`
  const items = texts.map((text) => `<si><t>${escapeXml(text)}</t></si>`).join('')
  const parts: Record<string, string> = {
    '[Content_Types].xml': `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${override('workbook.xml', 'sheet.main')}${override('worksheets/sheet1.xml', 'worksheet')}${override('styles.xml', 'styles')}${override('sharedStrings.xml', 'sharedStrings')}</Types>`,
    '_rels/.rels': `<Relationships xmlns="${packageRelations}">${relation('r1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${relations}"><sheets><sheet name="Rows" sheetId="1" r:id="r1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${packageRelations}">${relation('r1', 'worksheet', 'worksheets/sheet1.xml')}${relation('r2', 'styles', 'styles.xml')}${relation('r3', 'sharedStrings', 'sharedStrings.xml')}</Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${main}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="1"><font/></fonts><fills count="1"><fill><patternFill patternType="none"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': `<sst xmlns="${main}" uniqueCount="${texts.length}">${items}</sst>`,
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${main}"><sheetData>${rows}</sheetData></worksheet>`,
  }
  return makeZip(Object.entries(parts).map(([name, content]) => ({ name, content })))
}
