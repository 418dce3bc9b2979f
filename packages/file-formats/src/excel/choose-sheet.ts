import type { FoundSheet } from '../format/conversion-job.ts'
import { SourceProblem } from '@sluice/row-stream'
import type { UploadOptions } from '../format/upload-options.ts'
import type { WorkbookSheet } from './workbook.ts'

type ListedSheet = WorkbookSheet & { hasRows: boolean }

/**
 * Returns the sheet that the options name by its name or number, or else the first visible sheet with rows. Throws
 * SourceProblem SHEET_NOT_FOUND if no such sheet exists, SHEET_EMPTY if it has no rows and another one has, and
 * EMPTY_FILE if no sheet has rows.
 */
export function chooseSheet(sheets: readonly ListedSheet[], options: UploadOptions, file: string): ListedSheet {
  const sheet = findSheet(sheets, options)
  if (!sheet) throw sheetNotFoundProblem(sheets, options, file)
  if (sheet.hasRows) return sheet
  const otherSheets = sheets.filter(({ hasRows }) => hasRows)
  const advice =
    otherSheets.length === 0 ? 'No other sheet has rows.' : `Sheets with rows: ${formatSheetList(otherSheets, sheets)}.`
  const code = otherSheets.length === 0 ? 'EMPTY_FILE' : 'SHEET_EMPTY'
  throw new SourceProblem(code, `The sheet ${sheet.name} of ${file} is empty. ${advice}`)
}

/** Finds the sheet that the options name, or else the best sheet to read: a visible one with rows, if there is one. */
function findSheet(
  sheets: readonly ListedSheet[],
  { sheet: name, sheetNumber }: UploadOptions,
): ListedSheet | undefined {
  if (name !== undefined) {
    const sameName = sheets.find((sheet) => sheet.name === name)
    return sameName ?? sheets.find((sheet) => normalizeSheetName(sheet.name) === normalizeSheetName(name))
  }
  if (sheetNumber !== undefined) return sheets[sheetNumber - 1]
  const visibleSheets = sheets.filter(({ isHidden }) => !isHidden)
  return visibleSheets.find(({ hasRows }) => hasRows) ?? visibleSheets[0] ?? sheets[0]
}

function sheetNotFoundProblem(
  sheets: readonly ListedSheet[],
  { sheet: name, sheetNumber }: UploadOptions,
  file: string,
): SourceProblem {
  let missingText = ''
  if (name !== undefined) missingText = ` has no sheet called ${name}; it`
  else if (sheetNumber !== undefined) missingText = ` has no sheet number ${sheetNumber}; it`
  const existing = sheets.length === 0 ? 'no sheet with cells' : `the sheets ${formatSheetList(sheets, sheets)}`
  return new SourceProblem('SHEET_NOT_FOUND', `${file}${missingText} has ${existing}.`)
}

/** Returns the sheets of a workbook with their numbers. `isRead` is true for `readSheet`. */
export const toFoundSheets = (sheets: readonly ListedSheet[], readSheet: ListedSheet): FoundSheet[] =>
  sheets.map((sheet, index) => ({
    number: index + 1,
    name: sheet.name,
    isHidden: sheet.isHidden,
    hasRows: sheet.hasRows,
    isRead: sheet === readSheet,
  }))

/**
 * Returns a sentence about sheets with rows that are not read although no option names a sheet. Returns undefined if
 * no such sheets exist.
 */
export function describeUnreadSheets(
  sheets: readonly FoundSheet[],
  options: UploadOptions,
  file: string,
): string | undefined {
  if (options.sheet !== undefined || options.sheetNumber !== undefined) return undefined
  const unread = sheets.filter(({ hasRows, isRead }) => hasRows && !isRead)
  const readSheet = sheets.find(({ isRead }) => isRead)
  if (unread.length === 0 || !readSheet) return undefined
  const sheetTexts = unread.slice(0, maxListed).map((sheet) => formatSheet(sheet, sheet.number))
  const moreText = unread.length > maxListed ? ` and ${unread.length - maxListed} more` : ''
  return `Only the sheet ${formatSheet(readSheet, readSheet.number)} of ${file} was read. Sheets with rows that were not read: ${sheetTexts.join(', ')}${moreText}. Choose the sheet with csvOptions.sheet or csvOptions.sheetNumber, or upload a workbook that has only the sheet with the rows.`
}

const maxListed = 20
/** The maximum characters of a sheet name in messages. Excel allows 31; other programs exceed that. */
const maxNameLength = 60

function formatSheetList(listedSheets: readonly ListedSheet[], allSheets: readonly ListedSheet[]): string {
  const formatListedSheet = (sheet: ListedSheet) => formatSheet(sheet, allSheets.indexOf(sheet) + 1)
  const list = listedSheets.slice(0, maxListed).map(formatListedSheet).join(', ')
  return listedSheets.length > maxListed ? `${list} and ${listedSheets.length - maxListed} more` : list
}

function formatSheet({ name, isHidden }: Pick<FoundSheet, 'name' | 'isHidden'>, number: number): string {
  const shortName = name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name
  return `"${shortName}" (${isHidden ? 'hidden, ' : ''}number ${number})`
}

const normalizeSheetName = (name: string) => name.trim().toLowerCase()
