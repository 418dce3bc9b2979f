import type { DataType } from '@sluice/contracts'

/** What people may say about an upload beyond what its content tells. */
export interface UploadOptions {
  /** A label that TextDecoder knows, such as `windows-1252`; for text without a byte order mark. */
  encoding?: string
  /** The file inside a ZIP archive that holds the rows. */
  entry?: string
  /** The sheet of a workbook. */
  sheet?: string
  /** The key of a JSON document under which the rows are, where several keys hold arrays of objects. */
  rowsUnder?: string
}

/** How the text of a spool is to be read that was written here, in the words of packages/delimited/OPTIONS.md; it wins over any guess. */
export interface WrittenDialect {
  delimiter: 'COMMA'
  quote: 'DOUBLE'
  escape: 'DOUBLED'
  decimal: 'POINT'
  /** Absent where it is to be guessed as in any other file. */
  headerRow?: true
  headerLines?: 1
  skipLines?: 0
  footerLines?: 0
  nullValues?: []
  /** What the source itself says of a column, by position. */
  columns?: { index: number; dataType: DataType }[]
}
