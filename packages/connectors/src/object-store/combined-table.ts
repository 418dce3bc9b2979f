import {
  momentOf,
  writeMicroseconds,
  type FeedColumn,
  maxColumns,
  SourceProblem,
  type StoredType,
} from '@sluice/row-stream'
import type { PreviewCell } from '@sluice/file-formats/preview/source-preview'
import type { FieldSource } from './remap-columns.ts'
import type { StoredObject } from './object-store.ts'

/** The columns that name the object of a row. No file has such columns: their names start with a letter or a digit. */
const key: FeedColumn = { name: '_object_key', label: '_object_key', dataType: 'TEXT' }
const row: FeedColumn = { name: '_object_row', label: '_object_row', dataType: 'BIGINT' }
const modified: FeedColumn = { name: '_object_last_modified', label: '_object_last_modified', dataType: 'TIMESTAMPTZ' }

const own = [key, row, modified]

/**
 * Returns the table of several objects with the union of their columns. It has a key only if rows are to be merged,
 * because a key costs an index. Throws TOO_MANY_COLUMNS.
 */
export function createCombinedTable(united: readonly FeedColumn[], { keyed }: { keyed: boolean }): FeedColumn[] {
  const identity = keyed ? { primaryKey: true } : {}
  const columns = [...united, { ...key, ...identity }, { ...row, ...identity }, modified]
  if (columns.length > maxColumns) {
    const text = `The objects have ${united.length} different columns together; ${maxColumns - own.length} fit into a table. Load them by several pipelines.`
    throw new SourceProblem('TOO_MANY_COLUMNS', text)
  }
  return columns
}

/** Finds the source of each field of the table's rows, for an object with the columns `shape`. */
export function findFieldSources(
  columns: readonly FeedColumn[],
  types: readonly StoredType[],
  shape: readonly FeedColumn[],
  object: StoredObject,
): FieldSource[] {
  const places = new Map(shape.map(({ name }, index) => [name, index]))
  return columns.map(({ name }, index): FieldSource => {
    if (name === key.name) return Buffer.from(object.key.toWellFormed().replaceAll('\0', ''))
    if (name === modified.name) return moment(object.lastModified, types[index]!)
    if (name === row.name) return 'ROW_NUMBER'
    return places.get(name) ?? null
  })
}

export function findStoredTypes(
  columns: readonly FeedColumn[],
  types: readonly StoredType[],
  shape: readonly FeedColumn[],
): StoredType[] {
  const byName = new Map(columns.map(({ name }, index) => [name, types[index]!]))
  return shape.map(({ name }) => byName.get(name)!)
}

export const omitOwnColumns = (columns: readonly FeedColumn[]): FeedColumn[] =>
  columns.filter(({ name }) => !own.some((one) => one.name === name))

/** Converts rows of a preview to the layout of the combined table. */
export function addOwnColumns(
  columns: readonly FeedColumn[],
  rows: readonly PreviewCell[][],
  { key: name, lastModified }: StoredObject,
) {
  const at = lastModified.toISOString()
  return {
    columns: createCombinedTable(columns, { keyed: false }),
    rows: rows.map((cells, index) => [...cells, name, String(index + 1), at]),
  }
}

/** Encodes a timestamp; as text if the column of an existing table is text. */
function moment(date: Date, { dataType }: StoredType): Buffer {
  if (dataType !== 'TIMESTAMPTZ') return Buffer.from(date.toISOString())
  const into = { days: 0, seconds: 0, microseconds: 0 }
  momentOf(date, into)
  const bytes = Buffer.alloc(8)
  writeMicroseconds(new DataView(bytes.buffer, bytes.byteOffset), 0, into)
  return bytes
}
