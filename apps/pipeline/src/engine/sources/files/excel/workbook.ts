import { posix } from 'node:path'
import { SourceProblem } from '../../source.ts'
import type { ZipArchive } from '../compressed/zip-archive.ts'
import { builtInMeaning, meaningOf, type NumberMeaning } from './number-formats.ts'
import { readPart, type Reader } from './read-part.ts'
import { workbookPart } from './workbook-kind.ts'

/** What there is to know of a workbook before one of its sheets is read. */
export interface Workbook {
  sheet: { name: string; part: string; place: number; of: number }
  sharedTexts: string | undefined
  /** What numbers mean by a cell's style. */
  meanings: NumberMeaning[]
  is1904: boolean
}

interface Sheet {
  name: string
  hidden: boolean
  part: string
}

const listed = 20

/** Chooses the named sheet, or the first that is not hidden. Throws SourceProblem SHEET_NOT_FOUND or EXCEL_DAMAGED. */
export async function readWorkbook(archive: ZipArchive, wanted: string | undefined): Promise<Workbook> {
  const part = workbookPart(archive)!
  const relations = await readRelations(archive, part)
  const found: { id: string; name: string; hidden: boolean }[] = []
  let is1904 = false
  await readPart(archive, part, (xml) => {
    if (xml.is('workbookPr')) is1904 = /^(1|true)$/.test(xml.attribute('date1904') ?? '')
    if (!xml.is('sheet')) return
    const hidden = /hidden$/i.test(xml.attribute('state') ?? '')
    found.push({ id: xml.attribute('id') ?? '', name: xml.attribute('name') ?? '', hidden })
  })
  const sheets = found.flatMap(({ id, name, hidden }): Sheet[] => {
    const relation = relations.get(id)
    return relation?.type === 'worksheet' ? [{ name, hidden, part: relation.part }] : []
  })
  const sheet = choose(sheets, wanted, archive.name)
  const partOf = (type: string) => [...relations.values()].find((relation) => relation.type === type)?.part
  const styles = partOf('styles')
  return {
    sheet: { name: sheet.name, part: sheet.part, place: sheets.indexOf(sheet) + 1, of: sheets.length },
    sharedTexts: partOf('sharedStrings'),
    meanings: styles === undefined ? [] : await readMeanings(archive, styles),
    is1904,
  }
}

function choose(sheets: Sheet[], wanted: string | undefined, name: string): Sheet {
  const sheet =
    wanted === undefined
      ? (sheets.find(({ hidden }) => !hidden) ?? sheets[0])
      : (sheets.find((one) => one.name === wanted) ?? sheets.find((one) => fold(one.name) === fold(wanted)))
  if (sheet) return sheet
  const names = sheets.slice(0, listed).map((one) => one.name)
  const there = names.length === 0 ? 'no sheet with cells' : `the sheets ${names.join(', ')}`
  const text =
    wanted === undefined ? `${name} holds ${there}.` : `${name} has no sheet called ${wanted}; it holds ${there}.`
  throw new SourceProblem('SHEET_NOT_FOUND', text)
}

const fold = (name: string) => name.trim().toLowerCase()

/** What belongs to the workbook, by id. The kind is the last word of a relation's type, which two editions of the standard spell differently. */
async function readRelations(archive: ZipArchive, part: string): Promise<Map<string, { type: string; part: string }>> {
  const folder = posix.dirname(part)
  const relations = new Map<string, { type: string; part: string }>()
  await readPart(archive, `${folder}/_rels/${posix.basename(part)}.rels`, (xml) => {
    if (!xml.is('Relationship') || xml.attribute('TargetMode') === 'External') return
    const target = xml.attribute('Target') ?? ''
    const type = posix.basename(xml.attribute('Type') ?? '')
    const absolute = target.startsWith('/') ? target.slice(1) : posix.join(folder, target)
    relations.set(xml.attribute('Id') ?? '', { type, part: absolute })
  })
  return relations
}

async function readMeanings(archive: ZipArchive, part: string): Promise<NumberMeaning[]> {
  const own = new Map<number, NumberMeaning>()
  const meanings: NumberMeaning[] = []
  let inCells = false
  const reader: Reader = (xml) => {
    if (xml.is('numFmt')) own.set(Number(xml.attribute('numFmtId')), meaningOf(xml.attribute('formatCode') ?? ''))
    else if (xml.is('cellXfs')) inCells = true
    else if (inCells && xml.is('xf')) {
      const id = Number(xml.attribute('numFmtId') ?? 0)
      meanings.push(own.get(id) ?? builtInMeaning(id))
    }
  }
  await readPart(archive, part, reader, (xml) => {
    if (xml.is('cellXfs')) inCells = false
  })
  return meanings
}
