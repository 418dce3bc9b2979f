import type { DataType } from '@sluice/contracts'
import type { WarehouseColumn } from '../catalog.ts'
import type { ColumnFacts } from '../load-target.ts'

/** The stored type of a column: as the warehouse prints it, and as a data type of the API. */
export interface StoredAs {
  type: string
  dataType: DataType
}

/** A column as the source fed it, before transformations. */
export interface RememberedColumn extends StoredAs {
  name: string
  label: string
  /** True if no load has decided the type yet; the column is stored as text until then. */
  undecided?: 'NOTHING' | 'AMBIGUOUS'
  /** True if an earlier load contained the column and the last one did not. */
  vanished?: true
  /** An earlier load decided the type, and the last load had no value in the column. */
  empty?: true
  /** The time at which a load first created it, as ISO 8601; absent if that predates the record. */
  created?: string
  /** Whether the day precedes the month, if a value has shown it. */
  dayFirst?: boolean
  /** The form in which the source prints all values of the table, such as `DD.MM.YYYY`. Absent if they have several forms. */
  printedForm?: string
}

/** The memory of a table's last load. The publication of the rows writes it atomically with them. */
export interface FeedMemory {
  columns: RememberedColumn[]
  /** A digest of what the pipeline reads: query, sheet, options. */
  definition?: string
  /** The JSON that `RowContent.reading` of the source returned. */
  reading?: unknown
}

/** Derives the memory from a table that has none, as of an older version: it compares fed columns and keeps all others. */
export function memoryOfTable(
  columns: readonly (StoredAs & { name: string; label: string })[],
  labelledColumns: readonly string[],
): FeedMemory {
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

/** Returns the names of the columns that the source has delivered since the table was last replaced. */
export const fedColumns = (memory: FeedMemory | undefined): string[] =>
  (memory?.columns ?? []).filter(({ vanished }) => !vanished).map(({ name }) => name)

/**
 * Returns the columns that a merge sets to NULL if the load lacks them, because each row is a whole record. A load with all columns of its
 * source sets the columns that vanished earlier, too: rows that stayed in the table can still have values there.
 */
export const columnsToReplace = (memory: FeedMemory | undefined, shape: { hasAllColumns?: boolean } = {}): string[] =>
  shape.hasAllColumns ? (memory?.columns ?? []).map(({ name }) => name) : fedColumns(memory)

/** Returns whether the last load had a value in the column. */
export const hadValues = ({ undecided, vanished, empty }: RememberedColumn): boolean =>
  undecided !== 'NOTHING' && !vanished && !empty

/** Returns whether the table has no value in the column. A column that vanished can have values in rows of earlier loads. */
export const hasNoValueYet = ({ undecided, empty }: RememberedColumn): boolean =>
  undecided === 'NOTHING' || empty === true

/** Lists of types. The form of one type also prints the values of the other types of its list. */
const alikeTypes: readonly (readonly DataType[])[] = [
  ['BOOLEAN'],
  ['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL'],
  ['DATE', 'TIMESTAMP', 'TIMESTAMPTZ'],
]

const isAlike = (one: DataType, other: DataType): boolean =>
  alikeTypes.some((types) => types.includes(one) && types.includes(other))

type LoadedColumn = { dataType: DataType } & Pick<ColumnFacts, 'evidence' | 'printedForm'>

interface EarlierRows {
  before: RememberedColumn | undefined
  /** Whether rows of earlier loads stay. */
  merging: boolean
  /** The number of loaded rows; undefined until all are read. */
  rows: number | undefined
}

/**
 * Returns the form in which all values of a column are printed after a load: the form of the loaded values, which has to be that of
 * the values that stay, too. Undefined if there is no such form, or if the column is stored in a type that no form describes. Columns of text
 * keep their values as they were printed.
 */
export function printedFormAfterLoad(
  storedType: DataType,
  { dataType, evidence, printedForm }: LoadedColumn,
  { before, merging, rows }: EarlierRows,
): string | undefined {
  const loadedForm = isAlike(dataType, storedType) ? printedForm : undefined
  if (!merging || before === undefined) return loadedForm
  const earlierForm = isAlike(before.dataType, storedType) ? before.printedForm : undefined
  if (evidence === 'NOTHING' || rows === 0) return earlierForm
  if (hasNoValueYet(before)) return loadedForm
  return loadedForm === earlierForm ? loadedForm : undefined
}

/** Returns a lookup in the last load's memory: whether a column was deleted, when it was created, and how its values are printed. */
export function historyOf(
  memory: FeedMemory | null | undefined,
): (column: string) => Pick<WarehouseColumn, 'deleted' | 'created' | 'printedForm'> {
  const columns = new Map(memory?.columns.map((column) => [column.name, column]))
  return (name) => {
    const { vanished, created, printedForm } = columns.get(name) ?? {}
    return {
      ...(vanished && { deleted: vanished }),
      ...(created !== undefined && { created }),
      ...(printedForm !== undefined && { printedForm }),
    }
  }
}
