import type { DataType } from '@sluice/contracts'
import type { ColumnOptions } from '@sluice/delimited'

export interface UploadOptions {
  /** A label that TextDecoder knows, such as `windows-1252`; for text without a byte order mark. */
  encoding?: string
  /** The file inside a ZIP archive that holds the rows. */
  entry?: string
  sheet?: string
  /** The place of the sheet among those with cells, from 1. */
  sheetNumber?: number
  /** The key of a JSON document under which the rows are, where several keys hold arrays of objects. */
  rowsUnder?: string
  /** What people say of columns; it is kept, and what the source itself says is added to it. */
  columns?: readonly ColumnOptions[]
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
  trailingDelimiters?: 0
  trimSpaces?: false
  nullValues?: []
  columns?: DeclaredColumn[]
}

export interface DeclaredColumn {
  index: number
  label: string
  dataType: DataType
}

/** The columns as they were given, and what the source says of those that nobody gave a type. */
export function addDeclared(given: readonly ColumnOptions[], declared: readonly DeclaredColumn[]): ColumnOptions[] {
  const left = new Set(declared)
  const columns = given.map((column) => {
    const own = declared.find(({ index, label }) =>
      column.index === undefined ? column.label === label : column.index === index,
    )
    if (own) left.delete(own)
    const typed = column.dataType !== undefined || column.dateFormat !== undefined
    return own && !typed ? { ...column, dataType: own.dataType, declared: true } : column
  })
  return [...columns, ...[...left].map(({ index, dataType }) => ({ index, dataType, declared: true }))]
}
