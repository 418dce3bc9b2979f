import { posix } from 'node:path'
import { SourceProblem } from '@sluice/row-stream'
import type { ZipArchive } from '../archive/zip-archive.ts'
import { meaningOfBuiltInFormat, meaningOfFormatCode, type NumberMeaning } from './serial-dates.ts'
import { BadXml, type XmlHandler, XmlScanner } from './xml-scanner.ts'
import { type ByteSource, readStart } from '../spool/byte-source.ts'
import { tooLargeProblem } from '../spool/spool-writer.ts'

/** The parts of a workbook that are read before its sheets. */
export interface OpenWorkbook {
  sheets: WorkbookSheet[]
  /** The path of the part with the shared texts, if the workbook has one. */
  sharedTexts: string | undefined
  /** The meanings of numbers in cells, by the style number of the cell. */
  meanings: NumberMeaning[]
  /** True if dates are counted from 1904 instead of 1900. */
  is1904: boolean
}

export interface WorkbookSheet {
  name: string
  isHidden: boolean
  /** The path of the sheet's part in the archive. */
  path: string
}

/**
 * Reads the list of the sheets with cells, without chart sheets, and the number formats. Throws SourceProblem
 * EXCEL_DAMAGED, or TOO_LARGE if a part is too large.
 */
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
  const findPath = (type: string) => [...relations.values()].find((relation) => relation.type === type)?.path
  const stylesPath = findPath('styles')
  return {
    sheets,
    sharedTexts: findPath('sharedStrings'),
    meanings: stylesPath === undefined ? [] : await readMeanings(archive, stylesPath),
    is1904,
  }
}

/**
 * Reads the relations of the workbook, by id. A relation has the path of another part of the archive, and the type of
 * that part. Takes only the last word of the type, because two editions of the standard use different prefixes. Leaves
 * out relations to external files.
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

/** Reads the meanings of the number formats of all cell styles, by style number. */
async function readMeanings(archive: ZipArchive, path: string): Promise<NumberMeaning[]> {
  const customFormats = new Map<number, NumberMeaning>()
  const meanings: NumberMeaning[] = []
  let isInCellFormats = false
  const reader: XmlReader = (xml) => {
    if (xml.is('numFmt'))
      customFormats.set(Number(xml.attribute('numFmtId')), meaningOfFormatCode(xml.attribute('formatCode') ?? ''))
    else if (xml.is('cellXfs')) isInCellFormats = true
    else if (isInCellFormats && xml.is('xf')) {
      const id = Number(xml.attribute('numFmtId') ?? 0)
      meanings.push(customFormats.get(id) ?? meaningOfBuiltInFormat(id))
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
  const description = describeOtherDocument(entries)
  if (description === undefined) return
  throw new SourceProblem('NOT_SUPPORTED', `${name} is ${description}; save it as .xlsx or CSV and upload that.`)
}

/**
 * Returns what an archive is if it is an office document but no .xlsx workbook, judging by the names of its entries.
 */
function describeOtherDocument(entries: ZipArchive['entries']): string | undefined {
  if (entries.has('xl/workbook.bin')) return 'a binary Excel workbook (.xlsb)'
  if (entries.has('content.xml') && entries.has('META-INF/manifest.xml')) {
    return 'an OpenDocument file, as LibreOffice writes them'
  }
  if (entries.has('word/document.xml') || entries.has('ppt/presentation.xml')) {
    return 'a Microsoft Office document, but not a workbook'
  }
  return undefined
}

/** Receives each element of a part. */
type XmlReader = (xml: XmlScanner) => void

/** The maximum bytes of the small parts: list of sheets, relations, styles. */
const maxSmallPartBytes = 64 * 1024 * 1024
/** The maximum bytes of one tag or text. */
const maxTokenBytes = 16 * 1024 * 1024

/**
 * Reads one of the small parts. Calls `onOpen` for each start tag and `onClose` for each end tag. Throws SourceProblem
 * EXCEL_DAMAGED or TOO_LARGE.
 */
async function readPart(
  archive: ZipArchive,
  path: string,
  onOpen: XmlReader,
  onClose: XmlReader = () => {},
): Promise<void> {
  const handler = { open: onOpen, close: onClose, text: () => {} }
  await scanPart(partOf(archive, path), handler, archive.name, maxSmallPartBytes)
}

/**
 * Returns the bytes of a part by its path. Ignores letter case if no part has exactly this path, as Office does. Throws
 * SourceProblem EXCEL_DAMAGED if the part is missing.
 */
export function partOf(archive: ZipArchive, path: string): ByteSource {
  if (archive.entries.has(path)) return archive.bytes(path)
  const entryName = [...archive.entries.keys()].find((entry) => entry.toLowerCase() === path.toLowerCase())
  if (entryName === undefined) throw damagedWorkbookProblem(archive.name, `${path} is missing`)
  return archive.bytes(entryName)
}

/**
 * Scans a whole part and passes its elements and texts to a handler. `name` is the file's name in messages. Throws
 * SourceProblem EXCEL_DAMAGED, or TOO_LARGE if the part has more than `maxBytes` bytes.
 */
export async function scanPart(
  source: ByteSource,
  handler: XmlHandler,
  name: string,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<void> {
  const xml = new XmlScanner(handler, maxTokenBytes)
  let size = 0
  try {
    const [first, second] = await readStart(source, 2)
    const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
    if (isUtf16) throw new BadXml('it is written in UTF-16')
    for await (const chunk of source.chunks()) {
      size += chunk.length
      if (size > maxBytes) throw tooLargeProblem(name, maxBytes)
      xml.scan(chunk)
    }
    xml.finish()
  } catch (error) {
    throw error instanceof BadXml ? damagedWorkbookProblem(name, error.message, error) : error
  }
}

const damagedWorkbookProblem = (name: string, reason: string, cause?: unknown): SourceProblem =>
  new SourceProblem(
    'EXCEL_DAMAGED',
    `${name} cannot be read as an Excel workbook: ${reason}. Open it in Excel and save it again.`,
    { cause },
  )
