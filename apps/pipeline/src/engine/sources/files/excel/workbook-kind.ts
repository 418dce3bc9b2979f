import { SourceProblem } from '../../source.ts'
import type { ZipArchive } from '../compressed/zip-archive.ts'

/** The part that a workbook begins with; some services of Microsoft put a number behind its name. */
export const workbookPart = (archive: ZipArchive): string | undefined =>
  [...archive.entries.keys()].find((name) => /^xl\/workbook\d*\.xml$/i.test(name))

export const isWorkbook = (archive: ZipArchive): boolean => workbookPart(archive) !== undefined

/** Throws SourceProblem NOT_SUPPORTED for archives that are documents of another kind. */
export function refuseOtherDocuments({ entries, name }: ZipArchive): void {
  const kind = entries.has('xl/workbook.bin')
    ? 'a binary Excel workbook (.xlsb)'
    : entries.has('content.xml') && entries.has('META-INF/manifest.xml')
      ? 'an OpenDocument file, as LibreOffice writes them'
      : entries.has('word/document.xml') || entries.has('ppt/presentation.xml')
        ? 'a document of Microsoft Office that is no workbook'
        : undefined
  if (kind) throw new SourceProblem('NOT_SUPPORTED', `${name} is ${kind}; save it as .xlsx or CSV and upload that.`)
}
