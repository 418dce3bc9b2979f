import type { DataType } from '@sluice/contracts'
import type { ColumnOptions } from '../delimited/dialect/delimited-options.ts'

export interface UploadOptions {
  /**
   * The encoding, as a label that TextDecoder knows, such as `windows-1252`. Applies to text without a byte order mark.
   */
  encoding?: string
  /** The name of the file inside a ZIP archive that contains the rows. */
  entry?: string
  sheet?: string
  /** The position of the sheet among the sheets with cells, from 1. */
  sheetNumber?: number
  /** The key of a JSON document that contains the rows. Needed if several keys contain arrays of objects. */
  rowsUnder?: string
  /** The columns as users describe them. They take precedence over types that the source declares. */
  columns?: readonly ColumnOptions[]
}

/**
 * The dialect of a spool file (temporary file) that this process wrote, in the terms of
 * packages/file-formats/src/delimited/OPTIONS.md. It replaces detection.
 */
export interface WrittenDialect {
  delimiter: 'COMMA'
  quote: 'DOUBLE'
  escape: 'DOUBLED'
  decimal: 'POINT'
  /** Absent if the header must be detected as in any other file. */
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
  hasValidJson?: true
}

/**
 * Combines a user's options of columns with the types that the source declares. A column in the user's options gets the
 * declared type unless the user sets its type. The other declared columns are added at the end.
 */
export function addDeclared(
  columnsOfUser: readonly ColumnOptions[],
  declaredColumns: readonly DeclaredColumn[],
): ColumnOptions[] {
  const remainingColumns = new Set(declaredColumns)
  const columns = columnsOfUser.map((column) => {
    const declaredColumn = declaredColumns.find(({ index, label }) =>
      column.index === undefined ? column.label === label : column.index === index,
    )
    if (!declaredColumn) return column
    remainingColumns.delete(declaredColumn)
    const isTypeSetByUser = column.dataType !== undefined || column.dateFormat !== undefined
    return isTypeSetByUser ? column : { ...column, ...typeOptions(declaredColumn) }
  })
  for (const declaredColumn of remainingColumns) {
    columns.push({ index: declaredColumn.index, ...typeOptions(declaredColumn) })
  }
  return columns
}

const typeOptions = ({ dataType, hasValidJson }: DeclaredColumn): ColumnOptions => ({
  dataType,
  declared: true,
  ...(hasValidJson && { hasValidJson }),
})
