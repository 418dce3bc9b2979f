import { posix } from 'node:path'
import { SourceProblem } from '@sluice/row-stream'
import type { ZipArchive } from '../archive/zip-archive.ts'
import { builtInMeaning, meaningOf, type NumberMeaning } from './serial-dates.ts'
import { BadXml, type XmlHandler, XmlScanner } from './xml-scanner.ts'
import { type ByteSource, startOf } from '../spool/byte-source.ts'
import { tooLarge } from '../spool/spool-writer.ts'

/** The parts of a workbook that are read before its sheets. */
export interface OpenWorkbook {
  sheets: WorkbookSheet[]
  sharedTexts: string | undefined
  meanings: NumberMeaning[]
  is1904: boolean
}

export interface WorkbookSheet {
  name: string
  isHidden: boolean
  path: string
}

/** Reads the list of sheets with cells. Leaves out charts. Throws SourceProblem EXCEL_DAMAGED. */
export async function readWorkbook(archive: ZipArchive): Promise<OpenWorkbook> {
  const path = workbookPart(archive)!
  const relations = await readRelations(archive, path)
  const sheetList: { id: string; name: string; isHidden: boolean }[] = []
  let is1904 = false
  await readPart(archive, path, (xml) => {
    if (xml.is('workbookPr')) is1904 = /^(1|true)$/.test(xml.attribute('date1904') ?? '')
    if (!xml.is('sheet')) return
    const isHidden = /hidden$/i.test(xml.attribute('state') ?? '')
    sheetList.push({ id: xml.attribute('id') ?? '', name: xml.attribute('name') ?? '', isHidden })
  })
  const sheets = sheetList.flatMap(({ id, name, isHidden }): WorkbookSheet[] => {
    const relation = relations.get(id)
    return relation?.type === 'worksheet' ? [{ name, isHidden, path: relation.path }] : []
  })
  const partOf = (type: string) => [...relations.values()].find((relation) => relation.type === type)?.path
  const styles = partOf('styles')
  return {
    sheets,
    sharedTexts: partOf('sharedStrings'),
    meanings: styles === undefined ? [] : await readMeanings(archive, styles),
    is1904,
  }
}

/**
 * Reads the relations (links between parts) of the workbook, by id. The kind is the last word of a relation's type,
 * because two editions of the standard use different prefixes.
 */
async function readRelations(archive: ZipArchive, path: string): Promise<Map<string, { type: string; path: string }>> {
  const folder = posix.dirname(path)
  const relations = new Map<string, { type: string; path: string }>()
  await readPart(archive, `${folder}/_rels/${posix.basename(path)}.rels`, (xml) => {
    if (!xml.is('Relationship') || xml.attribute('TargetMode') === 'External') return
    const target = xml.attribute('Target') ?? ''
    const type = posix.basename(xml.attribute('Type') ?? '')
    const absolutePath = target.startsWith('/') ? target.slice(1) : posix.join(folder, target)
    relations.set(xml.attribute('Id') ?? '', { type, path: absolutePath })
  })
  return relations
}

async function readMeanings(archive: ZipArchive, path: string): Promise<NumberMeaning[]> {
  const customFormats = new Map<number, NumberMeaning>()
  const meanings: NumberMeaning[] = []
  let isInCellFormats = false
  const reader: XmlReader = (xml) => {
    if (xml.is('numFmt'))
      customFormats.set(Number(xml.attribute('numFmtId')), meaningOf(xml.attribute('formatCode') ?? ''))
    else if (xml.is('cellXfs')) isInCellFormats = true
    else if (isInCellFormats && xml.is('xf')) {
      const id = Number(xml.attribute('numFmtId') ?? 0)
      meanings.push(customFormats.get(id) ?? builtInMeaning(id))
    }
  }
  await readPart(archive, path, reader, (xml) => {
    if (xml.is('cellXfs')) isInCellFormats = false
  })
  return meanings
}

/** Returns the name of the workbook's main part. Some Microsoft services append a number to it. */
const workbookPart = (archive: ZipArchive): string | undefined =>
  [...archive.entries.keys()].find((name) => /^xl\/workbook\d*\.xml$/i.test(name))

export const isWorkbook = (archive: ZipArchive): boolean => workbookPart(archive) !== undefined

/** Throws SourceProblem NOT_SUPPORTED for archives that contain another kind of document. */
export function refuseOtherDocuments({ entries, name }: ZipArchive): void {
  const kind = entries.has('xl/workbook.bin')
    ? 'a binary Excel workbook (.xlsb)'
    : entries.has('content.xml') && entries.has('META-INF/manifest.xml')
      ? 'an OpenDocument file, as LibreOffice writes them'
      : entries.has('word/document.xml') || entries.has('ppt/presentation.xml')
        ? 'a Microsoft Office document, but not a workbook'
        : undefined
  if (kind) throw new SourceProblem('NOT_SUPPORTED', `${name} is ${kind}; save it as .xlsx or CSV and upload that.`)
}

/** Receives each element of a part. */
type XmlReader = (xml: XmlScanner) => void

/** The maximum bytes of parts that are held in memory completely: names, relations, styles. */
const smallPart = 64 * 1024 * 1024
const longestToken = 16 * 1024 * 1024

/** Reads one of the small parts. Throws SourceProblem EXCEL_DAMAGED or TOO_LARGE. */
async function readPart(
  archive: ZipArchive,
  path: string,
  onOpen: XmlReader,
  close: XmlReader = () => {},
): Promise<void> {
  await scanPart(partOf(archive, path), { open: onOpen, close, text: () => {} }, archive.name, smallPart)
}

/** Returns a part's bytes by its name, ignoring case as Office does. */
export function partOf(archive: ZipArchive, path: string): ByteSource {
  const name = archive.entries.has(path)
    ? path
    : [...archive.entries.keys()].find((entry) => entry.toLowerCase() === path.toLowerCase())
  if (name === undefined) throw damagedWorkbookProblem(archive.name, `${path} is missing`)
  return archive.bytes(name)
}

/** Scans a whole part and passes its elements and texts to a handler. */
export async function scanPart(
  source: ByteSource,
  handler: XmlHandler,
  name: string,
  limit = Number.POSITIVE_INFINITY,
): Promise<void> {
  const xml = new XmlScanner(handler, longestToken)
  let size = 0
  try {
    const [first, second] = await startOf(source, 2)
    if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
      throw new BadXml('it is written in UTF-16')
    for await (const chunk of source.chunks()) {
      size += chunk.length
      if (size > limit) throw tooLarge(name, limit)
      xml.scan(chunk)
    }
    xml.finish()
  } catch (error) {
    throw error instanceof BadXml ? damagedWorkbookProblem(name, error.message, error) : error
  }
}

export const damagedWorkbookProblem = (name: string, reason: string, cause?: unknown): SourceProblem =>
  new SourceProblem(
    'EXCEL_DAMAGED',
    `${name} cannot be read as an Excel workbook: ${reason}. Open it in Excel and save it again.`,
    { cause },
  )
