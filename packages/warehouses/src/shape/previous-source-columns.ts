import type { DataType } from '@sluice/contracts'
import type { WarehouseColumn } from '../catalog.ts'
import type { ColumnFacts } from '../load-target.ts'

/** The stored type of a column: the warehouse's name, and Sluice's data type. */
export interface StoredAs {
  type: string
  dataType: DataType
}

/** A source column as it was loaded, before transformations. Recorded for comparison with the next load. */
export interface PreviousSourceColumn extends StoredAs {
  name: string
  label: string
  /** Set if no load has decided the type yet. The column is stored as text until then. */
  undecided?: 'NOTHING' | 'AMBIGUOUS'
  /** True if an earlier load had the column and the last load did not. */
  vanished?: true
  /** True if an earlier load decided the type, and the last load had no value in the column. */
  empty?: true
  /** True if the last load had no value in the column, and earlier rows, which can have some, stayed in the table. */
  emptyInLoad?: true
  /** The time at which a load first created the column, as ISO 8601. Absent if the column is older than this record. */
  created?: string
  /** True if a value has shown that the day precedes the month, false for the reverse. */
  dayFirst?: boolean
  /**
   * The format in which the source prints all values of the table, such as `DD.MM.YYYY`. Absent if they have several
   * formats.
   */
  sourceFormat?: string
}

/** The record of a table's last load, with which the next load is compared. Stored atomically with the rows. */
export interface SourceShape {
  columns: PreviousSourceColumn[]
  /** A digest of what the pipeline reads: query, sheet, options. */
  definition?: string
  /** The JSON that the source's `RowContent.reading` returned. */
  reading?: unknown
}

/**
 * Derives the record of the last load from the columns of a table without such a record, which an older version loaded.
 * `suppliedNames` are the names of the columns that the source supplied. The other columns get the mark `vanished`, so
 * that the table keeps them.
 */
export function sourceShapeOfTable(
  columns: readonly (StoredAs & { name: string; label: string })[],
  suppliedNames: readonly string[],
): SourceShape {
  return {
    columns: columns.map(({ name, label, type, dataType }) => ({
      name,
      label,
      type,
      dataType,
      ...(!suppliedNames.includes(name) && { vanished: true }),
    })),
  }
}

/** Returns the names of the source's columns that have not vanished. */
export const suppliedColumnNames = (previousShape: SourceShape | undefined): string[] =>
  (previousShape?.columns ?? []).filter(({ vanished }) => !vanished).map(({ name }) => name)

/**
 * Returns the names of the columns that a merge sets to NULL if the load lacks them, because each row is a complete
 * record. Normally these are the columns of the last load. With `hasAllColumns`, they include columns that vanished
 * earlier, because rows that stayed can have values there.
 */
export function columnsToReplace(
  previousShape: SourceShape | undefined,
  { hasAllColumns = false }: { hasAllColumns?: boolean } = {},
): string[] {
  if (!hasAllColumns) return suppliedColumnNames(previousShape)
  return (previousShape?.columns ?? []).map(({ name }) => name)
}

/** True if the last load had a value in the column or, unless rows stay, rows that it kept can have one. */
export const hadValues = (
  { undecided, vanished, empty, emptyInLoad }: PreviousSourceColumn,
  { keepsRows }: { keepsRows: boolean },
): boolean => undecided !== 'NOTHING' && !vanished && !empty && !(keepsRows && emptyInLoad)

/**
 * Returns whether the table has no value in the column. A column that vanished can have values in rows of earlier
 * loads.
 */
export const hasNoValueYet = ({ undecided, empty }: PreviousSourceColumn): boolean =>
  undecided === 'NOTHING' || empty === true

/** Lists of types with common formats: a format of one type also applies to the other types of its list. */
const typesWithCommonFormats: readonly (readonly DataType[])[] = [
  ['BOOLEAN'],
  ['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL'],
  ['DATE', 'TIMESTAMP', 'TIMESTAMPTZ'],
]

const haveCommonFormats = (one: DataType, other: DataType): boolean =>
  typesWithCommonFormats.some((types) => types.includes(one) && types.includes(other))

type LoadedColumn = { dataType: DataType } & Pick<ColumnFacts, 'evidence' | 'sourceFormat'>

interface EarlierRows {
  /** The column as the last load recorded it. */
  previousColumn: PreviousSourceColumn | undefined
  /** Whether rows of earlier loads stay. */
  merging: boolean
  /** The number of loaded rows; undefined until all are read. */
  rows: number | undefined
}

/**
 * Returns the format in which the source prints all values of a column, such as `DD.MM.YYYY`: those of this load and,
 * if rows of earlier loads stay (`merging`), also theirs. Returns undefined if the values have several formats, and for
 * a column that stores them as text, where the format does not apply.
 */
export function sourceFormatAfterLoad(
  storedType: DataType,
  { dataType, evidence, sourceFormat }: LoadedColumn,
  { previousColumn, merging, rows }: EarlierRows,
): string | undefined {
  const loadedFormat = haveCommonFormats(dataType, storedType) ? sourceFormat : undefined
  if (!merging || previousColumn === undefined) return loadedFormat
  const earlierFormat = haveCommonFormats(previousColumn.dataType, storedType) ? previousColumn.sourceFormat : undefined
  const isLoadEmpty = evidence === 'NOTHING' || rows === 0
  if (isLoadEmpty) return earlierFormat
  const isTableEmpty = hasNoValueYet(previousColumn)
  if (isTableEmpty) return loadedFormat
  return loadedFormat === earlierFormat ? loadedFormat : undefined
}

/**
 * Returns a function that looks up a column in the record of the last load: whether it was deleted, when it was
 * created, and the format in which the source prints its values.
 */
export function createColumnHistory(
  previousShape: SourceShape | null | undefined,
): (column: string) => Pick<WarehouseColumn, 'deleted' | 'created' | 'sourceFormat'> {
  const columnsByName = new Map(previousShape?.columns.map((column) => [column.name, column]))
  return (name) => {
    const { vanished, created, sourceFormat } = columnsByName.get(name) ?? {}
    return {
      ...(vanished && { deleted: vanished }),
      ...(created !== undefined && { created }),
      ...(sourceFormat !== undefined && { sourceFormat }),
    }
  }
}
