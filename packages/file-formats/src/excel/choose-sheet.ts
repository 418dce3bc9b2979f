import type { FoundSheet } from '../format/converted-upload.ts'
import { SourceProblem } from '@sluice/row-stream'
import type { UploadOptions } from '../format/upload-options.ts'
import type { WorkbookSheet } from './workbook.ts'

type ListedSheet = WorkbookSheet & { hasRows: boolean }

/**
 * Returns the sheet that the options name, or else the first visible sheet with rows. Throws SourceProblem
 * SHEET_NOT_FOUND; SHEET_EMPTY if the sheet has no rows and another one has; EMPTY_FILE if no sheet has rows.
 */
export function chooseSheet(sheets: readonly ListedSheet[], options: UploadOptions, file: string): ListedSheet {
  const { sheet: name, sheetNumber: number } = options
  const sheet =
    name !== undefined
      ? (sheets.find((one) => one.name === name) ??
        sheets.find((one) => normalizeSheetName(one.name) === normalizeSheetName(name)))
      : number !== undefined
        ? sheets[number - 1]
        : (sheets.find(({ isHidden, hasRows }) => !isHidden && hasRows) ??
          sheets.find(({ isHidden }) => !isHidden) ??
          sheets[0])
  if (!sheet) {
    const missingText =
      name !== undefined
        ? ` has no sheet called ${name}; it`
        : number !== undefined
          ? ` has no sheet number ${number}; it`
          : ''
    const existing = sheets.length === 0 ? 'no sheet with cells' : `the sheets ${formatSheetList(sheets, sheets)}`
    throw new SourceProblem('SHEET_NOT_FOUND', `${file}${missingText} has ${existing}.`)
  }
  if (sheet.hasRows) return sheet
  const otherSheets = sheets.filter(({ hasRows }) => hasRows)
  const advice =
    otherSheets.length === 0 ? 'No other sheet has rows.' : `Sheets with rows: ${formatSheetList(otherSheets, sheets)}.`
  const code = otherSheets.length === 0 ? 'EMPTY_FILE' : 'SHEET_EMPTY'
  throw new SourceProblem(code, `The sheet ${sheet.name} of ${file} is empty. ${advice}`)
}

export const asFound = (sheets: readonly ListedSheet[], readSheet: ListedSheet): FoundSheet[] =>
  sheets.map((sheet, index) => ({
    number: index + 1,
    name: sheet.name,
    isHidden: sheet.isHidden,
    hasRows: sheet.hasRows,
    isRead: sheet === readSheet,
  }))

/**
 * Returns a sentence about sheets with rows that are not read although no setting excludes them, or undefined if all
 * are read.
 */
export function unreadSheets(sheets: readonly FoundSheet[], options: UploadOptions, file: string): string | undefined {
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
const longestName = 60

function formatSheetList(listedSheets: readonly ListedSheet[], allSheets: readonly ListedSheet[]): string {
  const names = listedSheets.slice(0, maxListed).map((sheet) => formatSheet(sheet, allSheets.indexOf(sheet) + 1))
  return listedSheets.length > maxListed
    ? `${names.join(', ')} and ${listedSheets.length - maxListed} more`
    : names.join(', ')
}

function formatSheet({ name, isHidden }: Pick<FoundSheet, 'name' | 'isHidden'>, number: number): string {
  const shownName = name.length > longestName ? `${name.slice(0, longestName)}…` : name
  return `"${shownName}" (${isHidden ? 'hidden, ' : ''}number ${number})`
}

const normalizeSheetName = (name: string) => name.trim().toLowerCase()
