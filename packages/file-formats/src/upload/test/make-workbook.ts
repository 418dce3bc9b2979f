import { makeZip } from './make-zip.ts'

export interface WorkbookParts {
  /** The rows of each sheet as XML. */
  sheets: Record<string, string>
  /** Attributes of sheets in the list of sheets. */
  attributes?: Record<string, string>
  /** The items of the shared texts as XML. */
  texts?: string
  /** What stands in the style sheet. */
  styles?: string
  /** What stands before the list of sheets. */
  properties?: string
  /** Parts to add, or to put in the place of others. */
  parts?: Record<string, string>
}

/** Formats for cells: style 1 is a day, 2 a moment, 3 a time, 4 hours that go on, 5 money. */
export const dayStyles =
  '<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/><numFmt numFmtId="165" formatCode="[Red]&quot;day &quot;#,##0.00"/></numFmts>' +
  '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>' +
  '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="20"/><xf numFmtId="46"/><xf numFmtId="165"/></cellXfs>'

/** A workbook as small as it can be. */
export function makeWorkbook({
  sheets,
  attributes = {},
  texts = '',
  styles = '',
  properties = '',
  parts = {},
}: WorkbookParts): Buffer {
  const names = Object.keys(sheets)
  const list = names.map(
    (name, index) => `<sheet name="${name}" sheetId="${index + 1}" ${attributes[name] ?? ''} r:id="r${index}"/>`,
  )
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"/>`
  const relations = names.map((_, index) => relation(`r${index}`, 'worksheet', `worksheets/sheet${index}.xml`))
  const files: Record<string, string> = {
    '[Content_Types].xml': '<Types/>',
    'xl/workbook.xml': `<?xml version="1.0" encoding="UTF-8"?><workbook xmlns:r="x">${properties}<sheets>${list.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${relations.join('')}${relation('t', 'sharedStrings', 'sharedStrings.xml')}${relation('s', 'styles', '/xl/styles.xml')}</Relationships>`,
    'xl/sharedStrings.xml': `<sst>${texts}</sst>`,
    'xl/styles.xml': `<styleSheet>${styles}</styleSheet>`,
    ...Object.fromEntries(
      names.map((name, index) => [
        `xl/worksheets/sheet${index}.xml`,
        `<worksheet><sheetData>${sheets[name]}</sheetData></worksheet>`,
      ]),
    ),
    ...parts,
  }
  return makeZip(Object.entries(files).map(([name, content]) => ({ name, content })))
}
