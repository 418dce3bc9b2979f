import type { DataType } from '@sluice/contracts'

/**
 * What a reading knows of a column's type. Absent: its values, or the source, say what the type is. NOTHING: no value was seen. AMBIGUOUS:
 * days and months that could change places. REQUESTED: the pipeline's settings give the type.
 */
export type Evidence = 'NOTHING' | 'AMBIGUOUS' | 'REQUESTED'

/** The stored type of a column: the warehouse's name of it, and that of the contracts. */
export interface StoredAs {
  type: string
  dataType: DataType
}

/** A column as the source fed it, before transformations. */
export interface RememberedColumn extends StoredAs {
  name: string
  label: string
  /** No load has decided the type yet: the column is stored as text. */
  undecided?: 'NOTHING' | 'AMBIGUOUS'
  /** An earlier load fed it, and the last one did not. */
  vanished?: true
  /** An earlier load decided the type, and the last load had no value in the column. */
  empty?: true
  /** The time at which a load first created it, as ISO 8601; absent if that predates the record. */
  created?: string
  /** Whether the day precedes the month, if a value has shown it. */
  dayFirst?: boolean
}

/** The memory of a table's last good load. The transaction that publishes the rows writes it. */
export interface FeedMemory {
  columns: RememberedColumn[]
  /** A digest of what the pipeline reads: query, sheet, options. */
  definition?: string
  /** The source's own notes on the reading. */
  reading?: unknown
}

/** Columns of a table without a memory of its last load: fed columns are compared, and all others are kept. */
export function memoryOfTable(
  columns: readonly (StoredAs & { name: string; label: string })[],
  fed: readonly string[],
): FeedMemory {
  return {
    columns: columns.map(({ name, label, type, dataType }) => ({
      name,
      label,
      type,
      dataType,
      ...(!fed.includes(name) && { vanished: true }),
    })),
  }
}

/** The columns that the source fed since the table was last replaced. */
export const fedColumns = (memory: FeedMemory | undefined): string[] =>
  (memory?.columns ?? []).filter(({ vanished }) => !vanished).map(({ name }) => name)

/** Returns whether the last load had a value in the column. */
export const hadValues = ({ undecided, vanished, empty }: RememberedColumn): boolean =>
  undecided !== 'NOTHING' && !vanished && !empty

/** Returns a lookup in the last load's memory: whether a column was deleted, and when it was created. */
export function historyOf(
  memory: FeedMemory | null | undefined,
): (column: string) => { deleted?: true; created?: string } {
  const columns = new Map(memory?.columns.map((column) => [column.name, column]))
  return (name) => {
    const { vanished, created } = columns.get(name) ?? {}
    return { ...(vanished && { deleted: vanished }), ...(created !== undefined && { created }) }
  }
}
