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
 * Derives the record of the last load from a table that has none, as tables of older versions. Source columns are
 * compared at the next load, and all other columns are kept.
 */
export function memoryOfTable(
  columns: readonly (StoredAs & { name: string; label: string })[],
  labelledColumns: readonly string[],
): SourceShape {
  return {
    columns: columns.map(({ name, label, type, dataType }) => ({
      name,
      label,
      type,
      dataType,
      ...(!labelledColumns.includes(name) && { vanished: true }),
    })),
  }
}

/** Returns the names of the source's columns that have not vanished. */
export const suppliedColumnNames = (memory: SourceShape | undefined): string[] =>
  (memory?.columns ?? []).filter(({ vanished }) => !vanished).map(({ name }) => name)

/**
 * Returns the columns that a merge sets to NULL if the load lacks them, because each row is a complete record. A load
 * with all columns of its source also sets columns that vanished earlier, because rows that stayed can have values
 * there.
 */
export const columnsToReplace = (memory: SourceShape | undefined, shape: { hasAllColumns?: boolean } = {}): string[] =>
  shape.hasAllColumns ? (memory?.columns ?? []).map(({ name }) => name) : suppliedColumnNames(memory)

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

/** Lists of types. The format of one type also prints the values of the other types of its list. */
const alikeTypes: readonly (readonly DataType[])[] = [
  ['BOOLEAN'],
  ['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL'],
  ['DATE', 'TIMESTAMP', 'TIMESTAMPTZ'],
]

const isAlike = (one: DataType, other: DataType): boolean =>
  alikeTypes.some((types) => types.includes(one) && types.includes(other))

type LoadedColumn = { dataType: DataType } & Pick<ColumnFacts, 'evidence' | 'sourceFormat'>

interface EarlierRows {
  before: PreviousSourceColumn | undefined
  /** Whether rows of earlier loads stay. */
  merging: boolean
  /** The number of loaded rows; undefined until all are read. */
  rows: number | undefined
}

/**
 * Returns the format in which all values of a column are printed after a load: the format of the loaded values, which has
 * to be that of the values that stay, too. Undefined if there is no such format, or if the column is stored in a type
 * that no format describes. Columns of text keep their values as they were printed.
 */
export function sourceFormatAfterLoad(
  storedType: DataType,
  { dataType, evidence, sourceFormat }: LoadedColumn,
  { before, merging, rows }: EarlierRows,
): string | undefined {
  const loadedFormat = isAlike(dataType, storedType) ? sourceFormat : undefined
  if (!merging || before === undefined) return loadedFormat
  const earlierFormat = isAlike(before.dataType, storedType) ? before.sourceFormat : undefined
  if (evidence === 'NOTHING' || rows === 0) return earlierFormat
  if (hasNoValueYet(before)) return loadedFormat
  return loadedFormat === earlierFormat ? loadedFormat : undefined
}

/**
 * Returns a lookup in the last load's memory: whether a column was deleted, when it was created, and how its values are
 * printed.
 */
export function historyOf(
  memory: SourceShape | null | undefined,
): (column: string) => Pick<WarehouseColumn, 'deleted' | 'created' | 'sourceFormat'> {
  const columns = new Map(memory?.columns.map((column) => [column.name, column]))
  return (name) => {
    const { vanished, created, sourceFormat } = columns.get(name) ?? {}
    return {
      ...(vanished && { deleted: vanished }),
      ...(created !== undefined && { created }),
      ...(sourceFormat !== undefined && { sourceFormat }),
    }
  }
}
