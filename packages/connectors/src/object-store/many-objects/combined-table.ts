import {
  convertDate,
  writeMicroseconds,
  describeColumns,
  type Column,
  formatCount,
  maxColumns,
  SourceProblem,
  type StoredType,
  temporalTypes,
} from '@sluice/row-stream'
import type { PreviewCell } from '@sluice/file-formats/preview/source-preview'
import type { RowSuffix } from '@sluice/file-formats/csv/similar-texts'
import { encodeField, type FieldSource } from './remap-columns.ts'
import type { StoredObject } from '../object-store.ts'

/**
 * Columns that identify the object of each row. They cannot collide with a file's columns, which start with a character
 * or digit.
 */
const objectKeyColumn: Column = { name: '_object_key', label: '_object_key', dataType: 'TEXT' }
const objectRowColumn: Column = { name: '_object_row', label: '_object_row', dataType: 'BIGINT' }
const lastModifiedColumn: Column = {
  name: '_object_last_modified',
  label: '_object_last_modified',
  dataType: 'TIMESTAMPTZ',
}

/** The name of the column with the key of the row's object. */
export const objectKeyName = objectKeyColumn.name

/** Rows of objects that changed later take precedence. */
export const objectPrecedence: readonly string[] = [lastModifiedColumn.name, objectKeyColumn.name]

const objectColumns = [objectKeyColumn, objectRowColumn, lastModifiedColumn]

/**
 * Returns the columns of the table for several objects: the union of their columns. It has a key only if rows will be
 * merged, because a key needs an index. Throws TOO_MANY_COLUMNS.
 */
export function createCombinedTable(
  unionColumns: readonly Column[],
  { hasPrimaryKey }: { hasPrimaryKey: boolean },
): Column[] {
  const keyOption = hasPrimaryKey ? { primaryKey: true } : {}
  const columns = [
    ...unionColumns,
    { ...objectKeyColumn, ...keyOption },
    { ...objectRowColumn, ...keyOption },
    lastModifiedColumn,
  ]
  if (columns.length > maxColumns) {
    const text = `The objects have ${unionColumns.length} different columns in total, but a table can have at most ${maxColumns - objectColumns.length}. Load the objects with several pipelines.`
    throw new SourceProblem('TOO_MANY_COLUMNS', text)
  }
  return columns
}

/** Returns, for each column of the table, its source in an object with the columns `shape`. */
export function findFieldSources(
  columns: readonly Column[],
  types: readonly StoredType[],
  shape: readonly Column[],
  object: StoredObject,
): FieldSource[] {
  const indexesByName = new Map(shape.map(({ name }, index) => [name, index]))
  return columns.map(({ name }, index): FieldSource => {
    if (name === objectKeyColumn.name) return encodeKeyText(object.key)
    if (name === lastModifiedColumn.name) return encodeTimestamp(object.lastModified, types[index]!)
    if (name === objectRowColumn.name) return 'ROW_NUMBER'
    return indexesByName.get(name) ?? null
  })
}

/**
 * Returns, for each column of the table, its source in rows with the columns `shape` followed by the object columns.
 */
export function findSuffixedFieldSources(columns: readonly Column[], shape: readonly Column[]): FieldSource[] {
  const indexesByName = new Map([...shape, ...objectColumns].map(({ name }, index) => [name, index]))
  return columns.map(({ name }): FieldSource => indexesByName.get(name) ?? null)
}

/** Returns the number of fields of such rows. */
export const countSuffixedFields = (shape: readonly Column[]): number => shape.length + objectColumns.length

/** Returns the values of the object columns for the rows of an object. */
export function createRowSuffix(
  { key, lastModified }: StoredObject,
  columns: readonly Column[],
  types: readonly StoredType[],
): RowSuffix {
  const timeIndex = columns.findIndex(({ name }) => name === lastModifiedColumn.name)
  const keyField = encodeField(encodeKeyText(key))
  const rowNumberField = encodeField(Buffer.alloc(8))
  const timeField = encodeField(encodeTimestamp(lastModified, types[timeIndex]!))
  const bytes = new Uint8Array(Buffer.concat([keyField, rowNumberField, timeField]))
  return { fields: objectColumns.length, bytes, rowNumberAt: keyField.length + lengthBytes }
}

/** The number of bytes of a field's length prefix. */
const lengthBytes = 4

/** Lone surrogates are replaced and NUL is removed, because warehouses cannot store them in texts. */
const encodeKeyText = (key: string): Buffer => Buffer.from(key.toWellFormed().replaceAll('\0', ''))

export function findStoredTypes(
  columns: readonly Column[],
  types: readonly StoredType[],
  shape: readonly Column[],
): StoredType[] {
  const byName = new Map(columns.map(({ name }, index) => [name, types[index]!]))
  return shape.map(({ name }) => byName.get(name)!)
}

export const omitOwnColumns = (columns: readonly Column[]): Column[] => columns.filter(({ name }) => !isOwnColumn(name))

/** Returns whether a column identifies the object of a row, and is not a column of the object. */
export const isOwnColumn = (name: string): boolean => objectColumns.some((one) => one.name === name)

/** Adds the values of the object columns to the rows of a preview, in the column order of the combined table. */
export function addOwnColumns(
  columns: readonly Column[],
  rows: readonly PreviewCell[][],
  { key: name, lastModified }: StoredObject,
) {
  const modifiedAt = lastModified.toISOString()
  return {
    columns: createCombinedTable(columns, { hasPrimaryKey: false }),
    rows: rows.map((cells, index) => [...cells, name, String(index + 1), modifiedAt]),
  }
}

/** Encodes a timestamp, as text if the existing table's column is text. */
function encodeTimestamp(date: Date, { dataType }: StoredType): Buffer {
  if (dataType !== 'TIMESTAMPTZ') return Buffer.from(date.toISOString())
  const into = { days: 0, seconds: 0, microseconds: 0 }
  convertDate(date, into)
  const bytes = Buffer.alloc(8)
  writeMicroseconds(new DataView(bytes.buffer, bytes.byteOffset), 0, into)
  return bytes
}

const integerTypes = ['SMALLINT', 'INTEGER', 'BIGINT']
const digitsByInteger: Readonly<Record<string, number>> = { SMALLINT: 5, INTEGER: 10, BIGINT: 19 }
const floatTypes = ['FLOAT', 'DOUBLE']
const maxDecimalDigits = 38

/** Returns the narrowest type that stores all values of both types without loss. The last resort is TEXT. */
export function findCommonType(firstType: StoredType, secondType: StoredType): StoredType {
  if (hasSameType(firstType, secondType)) return widestStoredType(firstType)
  for (const family of [integerTypes, temporalTypes]) {
    const [a, b] = [family.indexOf(firstType.dataType), family.indexOf(secondType.dataType)]
    if (a >= 0 && b >= 0) return { dataType: a > b ? firstType.dataType : secondType.dataType }
  }
  if (!isNumericType(firstType) || !isNumericType(secondType)) return { dataType: 'TEXT' }
  if (floatTypes.includes(firstType.dataType) || floatTypes.includes(secondType.dataType)) {
    const isExact = [firstType, secondType].every(({ dataType }) =>
      [...floatTypes, 'SMALLINT', 'INTEGER'].includes(dataType),
    )
    // A double rounds integers above 2^53, so the type becomes DECIMAL if numbers can be larger.
    return { dataType: isExact ? 'DOUBLE' : 'DECIMAL' }
  }
  const [a, b] = [countDigits(firstType), countDigits(secondType)]
  if (!a || !b) return { dataType: 'DECIMAL' }
  const scale = Math.max(a.after, b.after)
  const precision = Math.max(a.before, b.before) + scale
  return precision > maxDecimalDigits ? { dataType: 'DECIMAL' } : { dataType: 'DECIMAL', precision, scale }
}

/** Returns the union of two column lists: the columns of the first, then the columns that only the second has. */
export function uniteColumns(columns: readonly Column[], otherColumns: readonly Column[]): Column[] {
  const otherByName = new Map(otherColumns.map((column) => [column.name, column]))
  const unionColumns = columns.map((column): Column => {
    const otherColumn = otherByName.get(column.name)
    otherByName.delete(column.name)
    return otherColumn ? { name: column.name, label: column.label, ...mergeColumnTypes(column, otherColumn) } : column
  })
  return [...unionColumns, ...otherByName.values()]
}

/**
 * Returns the type that fits both columns. A column without values does not influence it. Dates in an ambiguous format
 * (day or month first) stay text if the other column has another type.
 */
function mergeColumnTypes(firstColumn: Column, secondColumn: Column): StoredType & Pick<Column, 'evidence'> {
  if (firstColumn.evidence === 'NOTHING')
    return { ...widestStoredType(secondColumn), ...(secondColumn.evidence && { evidence: secondColumn.evidence }) }
  if (secondColumn.evidence === 'NOTHING' || hasSameType(firstColumn, secondColumn)) {
    const evidence =
      secondColumn.evidence === 'NOTHING' || firstColumn.evidence === secondColumn.evidence
        ? firstColumn.evidence
        : undefined
    return { ...widestStoredType(firstColumn), ...(evidence && { evidence }) }
  }
  return findCommonType(firstColumn, secondColumn)
}

export const hasSameType = (firstType: StoredType, secondType: StoredType): boolean =>
  firstType.dataType === secondType.dataType &&
  firstType.precision === secondType.precision &&
  firstType.scale === secondType.scale

function widestStoredType({ dataType, precision, scale }: StoredType): StoredType {
  return { dataType, ...(precision !== undefined && { precision }), ...(scale !== undefined && { scale }) }
}

const isNumericType = ({ dataType }: StoredType): boolean =>
  integerTypes.includes(dataType) || floatTypes.includes(dataType) || dataType === 'DECIMAL'

function countDigits({ dataType, precision, scale = 0 }: StoredType): { before: number; after: number } | undefined {
  const integerDigits = digitsByInteger[dataType]
  if (integerDigits !== undefined) return { before: integerDigits, after: 0 }
  return precision === undefined ? undefined : { before: precision - scale, after: scale }
}

/** The maximum number of columns that the message names. */
const maxNamedColumns = 20

/**
 * Describes how the columns of objects differ, for the log. Returns undefined if all objects have the same columns.
 * `unionColumns` is the union of their columns.
 */
export function describeDifferences(
  shapes: readonly (readonly Column[])[],
  unionColumns: readonly Column[],
): string | undefined {
  const columnMaps = shapes.map((shape) => new Map(shape.map((column) => [column.name, column])))
  const notes = unionColumns.flatMap((column) => {
    const sameColumns = columnMaps
      .map((shape) => shape.get(column.name))
      .filter((sameColumn) => sameColumn !== undefined)
    const lackingCount = shapes.length - sameColumns.length
    const columnsByType = new Map(
      sameColumns.map((sameColumn) => [describeColumns([{ ...sameColumn, name: '' }]).trim(), sameColumn]),
    )
    const changes = [
      ...(lackingCount > 0 ? [`${lackingCount} of ${shapes.length} do not have it`] : []),
      ...(sameColumns.some((sameColumn) => sameColumn.evidence !== 'NOTHING' && !hasSameType(sameColumn, column))
        ? [
            `it is ${[...columnsByType.keys()].join(' and ')}, and becomes ${describeColumns([{ ...column, name: '' }]).trim()}`,
          ]
        : []),
    ]
    return changes.length > 0 ? [`"${column.label}": ${changes.join('; ')}`] : []
  })
  if (notes.length === 0) return undefined
  const moreText =
    notes.length > maxNamedColumns ? `, and ${formatCount(notes.length - maxNamedColumns, 'column')} more` : ''
  return `The objects have different columns. The table has all columns, with types that fit all objects; columns that an object lacks are empty in its rows. ${notes.slice(0, maxNamedColumns).join('. ')}${moreText}.`
}
