import { maxColumns, SourceProblem } from '@sluice/row-stream'
import type { ZipArchive } from '../archive/zip-archive.ts'
import { type ByteSource, truncateAfter, truncateWhen, catchTruncatedRead } from '../spool/byte-source.ts'
import type { RowOutput } from '../spool/rejected-rows-file.ts'
import type { FoundSheet, ConversionJob } from '../format/conversion-job.ts'
import type { ScratchFiles } from '../spool/spool-file.ts'
import type { WrittenDialect } from '../format/upload-options.ts'
import { toFoundSheets, chooseSheet } from './choose-sheet.ts'
import { type OpenWorkbook, partOf, readWorkbook, scanPart, type WorkbookSheet } from './workbook.ts'
import { SharedTexts, TextReader } from './shared-texts.ts'
import { type SheetContext, SheetReader, SheetRow } from './sheet-reader.ts'

/** The bytes at the start of a sheet from which the range of columns is derived. */
const rangeSampleBytes = 1024 * 1024

type SheetConversion = Pick<ConversionJob, 'name' | 'limits' | 'options' | 'firstBytes'> & { scratch: ScratchFiles }

/**
 * Writes the sheet that the options name, or the first visible one with rows, as lines of delimited text. Leaves out
 * rows without a value. The columns range from the first to the last one with a value in any row. If `firstBytes` is
 * set, reads only this many bytes of the sheet, and `complete` is false.
 */
export async function writeSheet(
  archive: ZipArchive,
  output: RowOutput,
  conversion: SheetConversion,
): Promise<{ sheets: FoundSheet[]; dialect: WrittenDialect; complete: boolean; written: number }> {
  const { name, options, firstBytes } = conversion
  const workbook = await readWorkbook(archive)
  const context = await readSheetContext(archive, workbook, conversion)
  const listedSheets: (WorkbookSheet & { hasRows: boolean })[] = []
  for (const listedSheet of workbook.sheets)
    listedSheets.push({ ...listedSheet, hasRows: await hasRows(archive, listedSheet, context) })
  const sheet = chooseSheet(listedSheets, options, name)
  const sheetBytes = partOf(archive, sheet.path)
  const bytesToRead = firstBytes === undefined ? sheetBytes : truncateAfter(sheetBytes, firstBytes)
  const { rowCount, isComplete } = await writeRows(bytesToRead, output, context, conversion)
  return {
    sheets: toFoundSheets(listedSheets, sheet),
    dialect: sheetDialect,
    complete: isComplete,
    written: rowCount - output.rejects.count,
  }
}

/**
 * Writes the rows of a sheet. Derives the range of columns from the start of the sheet, and writes everything again
 * with a wider range if later rows exceed it. `isComplete` is false if `bytes` ended before the sheet.
 */
async function writeRows(
  bytes: ByteSource,
  output: RowOutput,
  context: SheetContext,
  { name, limits }: SheetConversion,
): Promise<{ rowCount: number; isComplete: boolean }> {
  const emptyRange = { first: 0, last: -1 }
  let sheetRow = new SheetRow(emptyRange, limits.recordBytes)
  await readSheet(truncateAfter(bytes, rangeSampleBytes), sheetRow, context, name).catch(catchTruncatedRead)
  for (;;) {
    if (sheetRow.isTooWide) throw tooManyColumnsProblem(name, sheetRow.width)
    output.writer.startOver()
    output.rejects.startOver()
    const range = { first: sheetRow.first, last: sheetRow.last }
    sheetRow = new SheetRow(range, limits.recordBytes, output)
    const outcome = await readSheet(bytes, sheetRow, context, name).catch(catchTruncatedRead)
    if (!sheetRow.mustReadAgain) return { rowCount: sheetRow.rows, isComplete: outcome !== 'TRUNCATED' }
  }
}

/**
 * True if a sheet has a value. Reads the sheet up to its first value. An unreadable sheet counts as having values, so
 * that reading it reports the problem.
 */
async function hasRows(archive: ZipArchive, { path }: WorkbookSheet, context: SheetContext): Promise<boolean> {
  const row = new SheetRow({ first: 0, last: -1 }, 0)
  try {
    const start = truncateWhen(partOf(archive, path), () => row.width > 0)
    await readSheet(start, row, context, archive.name).catch(catchTruncatedRead)
    return row.width > 0
  } catch (error) {
    if (error instanceof SourceProblem) return true
    throw error
  }
}

const sheetDialect: WrittenDialect = { delimiter: 'COMMA', quote: 'DOUBLE', escape: 'DOUBLED', decimal: 'POINT' }

/** Reads the shared texts and the number formats, to which the cells of all sheets refer. */
async function readSheetContext(
  archive: ZipArchive,
  workbook: OpenWorkbook,
  { name, scratch, limits }: SheetConversion,
): Promise<SheetContext> {
  const texts = new SharedTexts(name, scratch, limits)
  const { sharedTexts, meanings, is1904 } = workbook
  if (sharedTexts !== undefined) await scanPart(partOf(archive, sharedTexts), new TextReader(texts), name)
  return { texts, meanings, is1904 }
}

const readSheet = (part: ByteSource, row: SheetRow, context: SheetContext, name: string): Promise<void> =>
  scanPart(part, new SheetReader(row, context), name)

function tooManyColumnsProblem(name: string, width: number): SourceProblem {
  const text = `${name} has values in ${width} columns; a table holds at most ${maxColumns}. Remove columns.`
  return new SourceProblem('TOO_MANY_COLUMNS', text)
}
