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
import { encodeField, type FieldSource, lengthBytes } from './tuple-layout.ts'
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

/**
 * Returns, for each column of the combined table, the source of its values in the rows of an object: the index of a
 * column in `sourceColumns`, constant bytes, the row number, or null (NULL) if the object lacks the column.
 */
export function findFieldSources(
  columns: readonly Column[],
  types: readonly StoredType[],
  sourceColumns: readonly Column[],
  object: StoredObject,
): FieldSource[] {
  const indexesByName = new Map(sourceColumns.map(({ name }, index) => [name, index]))
  return columns.map(({ name }, index): FieldSource => {
    if (name === objectKeyColumn.name) return encodeKeyText(object.key)
    if (name === lastModifiedColumn.name) return encodeTimestamp(object.lastModified, types[index]!)
    if (name === objectRowColumn.name) return 'ROW_NUMBER'
    return indexesByName.get(name) ?? null
  })
}

/**
 * Returns, for each column of the table, its source in rows with the columns `sourceColumns` followed by the object
 * columns.
 */
export function findSuffixedFieldSources(columns: readonly Column[], sourceColumns: readonly Column[]): FieldSource[] {
  const indexesByName = new Map([...sourceColumns, ...objectColumns].map(({ name }, index) => [name, index]))
  return columns.map(({ name }): FieldSource => indexesByName.get(name) ?? null)
}

/** Returns the number of fields of rows with these columns followed by the object columns. */
export const countSuffixedFields = (sourceColumns: readonly Column[]): number =>
  sourceColumns.length + objectColumns.length

const bigintBytes = 8

/**
 * Returns the values of the object columns for the rows of an object, encoded in binary COPY format. The row number is
 * zero; each row overwrites it at `rowNumberAt`.
 */
export function createRowSuffix(
  { key, lastModified }: StoredObject,
  columns: readonly Column[],
  types: readonly StoredType[],
): RowSuffix {
  const timeIndex = columns.findIndex(({ name }) => name === lastModifiedColumn.name)
  const keyField = encodeField(encodeKeyText(key))
  const rowNumberField = encodeField(Buffer.alloc(bigintBytes))
  const timeField = encodeField(encodeTimestamp(lastModified, types[timeIndex]!))
  const bytes = new Uint8Array(Buffer.concat([keyField, rowNumberField, timeField]))
  const rowNumberAt = keyField.length + lengthBytes
  return { fields: objectColumns.length, bytes, rowNumberAt }
}

/** Lone surrogates are replaced and NUL is removed, because warehouses cannot store them in texts. */
const encodeKeyText = (key: string): Buffer => Buffer.from(key.toWellFormed().replaceAll('\0', ''))

/** Returns the stored types of some columns of the combined table. */
export function findStoredTypes(
  columns: readonly Column[],
  types: readonly StoredType[],
  sourceColumns: readonly Column[],
): StoredType[] {
  const typesByName = new Map(columns.map(({ name }, index) => [name, types[index]!]))
  return sourceColumns.map(({ name }) => typesByName.get(name)!)
}

/** Returns the columns without those that identify the object of a row. */
export const omitObjectColumns = (columns: readonly Column[]): Column[] =>
  columns.filter(({ name }) => !isObjectColumn(name))

/** True if a column identifies the object of a row, and is not a column of the object itself. */
export const isObjectColumn = (name: string): boolean => objectColumns.some((column) => column.name === name)

/** Adds the values of the object columns to the rows of a preview, in the column order of the combined table. */
export function addObjectColumns(
  columns: readonly Column[],
  rows: readonly PreviewCell[][],
  { key, lastModified }: StoredObject,
) {
  const modifiedAt = lastModified.toISOString()
  return {
    columns: createCombinedTable(columns, { hasPrimaryKey: false }),
    rows: rows.map((cells, index) => [...cells, key, String(index + 1), modifiedAt]),
  }
}

/** Encodes a timestamp in binary COPY format, or as text if the column of the existing table is text. */
function encodeTimestamp(date: Date, { dataType }: StoredType): Buffer {
  if (dataType !== 'TIMESTAMPTZ') return Buffer.from(date.toISOString())
  const timestampParts = { days: 0, seconds: 0, microseconds: 0 }
  convertDate(date, timestampParts)
  const bytes = Buffer.alloc(8)
  writeMicroseconds(new DataView(bytes.buffer, bytes.byteOffset), 0, timestampParts)
  return bytes
}

const integerTypes = ['SMALLINT', 'INTEGER', 'BIGINT']
const digitsByInteger: Readonly<Record<string, number>> = { SMALLINT: 5, INTEGER: 10, BIGINT: 19 }
const floatTypes = ['FLOAT', 'DOUBLE']
const maxDecimalDigits = 38

/** Returns the narrowest type that stores all values of both types without loss. This is TEXT if no other type does. */
export function findCommonType(firstType: StoredType, secondType: StoredType): StoredType {
  if (hasSameType(firstType, secondType)) return pickType(firstType)
  const widerType =
    findWiderType(firstType, secondType, integerTypes) ?? findWiderType(firstType, secondType, temporalTypes)
  if (widerType) return widerType
  if (!isNumericType(firstType) || !isNumericType(secondType)) return { dataType: 'TEXT' }
  const types = [firstType, secondType]
  const hasFloat = types.some(({ dataType }) => floatTypes.includes(dataType))
  if (!hasFloat) return createCommonDecimal(firstType, secondType)
  // A double rounds integers above 2^53, so the type becomes DECIMAL if numbers can be larger.
  const fitsDouble = types.every(({ dataType }) => [...floatTypes, 'SMALLINT', 'INTEGER'].includes(dataType))
  return { dataType: fitsDouble ? 'DOUBLE' : 'DECIMAL' }
}

/** Returns the wider one of two types, or undefined if the family, in the order of width, does not have both. */
function findWiderType(
  firstType: StoredType,
  secondType: StoredType,
  family: readonly string[],
): StoredType | undefined {
  const firstRank = family.indexOf(firstType.dataType)
  const secondRank = family.indexOf(secondType.dataType)
  const areBothInFamily = firstRank >= 0 && secondRank >= 0
  if (!areBothInFamily) return undefined
  return { dataType: firstRank > secondRank ? firstType.dataType : secondType.dataType }
}

/** Returns the decimal type for the digits of both numeric types. It has no precision if their digits are unlimited. */
function createCommonDecimal(firstType: StoredType, secondType: StoredType): StoredType {
  const firstDigits = countDigits(firstType)
  const secondDigits = countDigits(secondType)
  if (!firstDigits || !secondDigits) return { dataType: 'DECIMAL' }
  const scale = Math.max(firstDigits.afterPoint, secondDigits.afterPoint)
  const precision = Math.max(firstDigits.beforePoint, secondDigits.beforePoint) + scale
  return precision > maxDecimalDigits ? { dataType: 'DECIMAL' } : { dataType: 'DECIMAL', precision, scale }
}

/**
 * Returns the union of two column lists: the columns of the first, then the columns that only the second has. A
 * column of both has a type that fits both.
 */
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
  if (firstColumn.evidence === 'NOTHING') return pickTypeAndEvidence(secondColumn)
  if (secondColumn.evidence === 'NOTHING') return pickTypeAndEvidence(firstColumn)
  if (!hasSameType(firstColumn, secondColumn)) return findCommonType(firstColumn, secondColumn)
  const hasSameEvidence = firstColumn.evidence === secondColumn.evidence
  return hasSameEvidence ? pickTypeAndEvidence(firstColumn) : pickType(firstColumn)
}

const pickTypeAndEvidence = (column: Column): StoredType & Pick<Column, 'evidence'> => ({
  ...pickType(column),
  ...(column.evidence && { evidence: column.evidence }),
})

const hasSameType = (firstType: StoredType, secondType: StoredType): boolean =>
  firstType.dataType === secondType.dataType &&
  firstType.precision === secondType.precision &&
  firstType.scale === secondType.scale

/** Returns the type of a column without its other fields. */
function pickType({ dataType, precision, scale }: StoredType): StoredType {
  return { dataType, ...(precision !== undefined && { precision }), ...(scale !== undefined && { scale }) }
}

const isNumericType = ({ dataType }: StoredType): boolean =>
  integerTypes.includes(dataType) || floatTypes.includes(dataType) || dataType === 'DECIMAL'

/** Returns the maximum digits of a number, or undefined if a decimal type has no maximum. */
function countDigits({
  dataType,
  precision,
  scale = 0,
}: StoredType): { beforePoint: number; afterPoint: number } | undefined {
  const integerDigits = digitsByInteger[dataType]
  if (integerDigits !== undefined) return { beforePoint: integerDigits, afterPoint: 0 }
  return precision === undefined ? undefined : { beforePoint: precision - scale, afterPoint: scale }
}

/** The maximum number of columns that the message names. */
const maxNamedColumns = 20

/**
 * Describes how the columns of objects differ, for the log. `columnLists` contains the columns of each object, and
 * `unionColumns` is the union of them. Returns undefined if all objects have the same columns.
 */
export function describeDifferences(
  columnLists: readonly (readonly Column[])[],
  unionColumns: readonly Column[],
): string | undefined {
  const columnMaps = columnLists.map((columns) => new Map(columns.map((column) => [column.name, column])))
  const notes = unionColumns.flatMap((unionColumn) => {
    const columnsOfObjects = columnMaps.map((columns) => columns.get(unionColumn.name))
    return describeColumnDifferences(unionColumn, columnsOfObjects) ?? []
  })
  if (notes.length === 0) return undefined
  const unnamedCount = notes.length - maxNamedColumns
  const moreText = unnamedCount > 0 ? `, and ${formatCount(unnamedCount, 'column')} more` : ''
  return `The objects have different columns. The table has all columns, with types that fit all objects; columns that an object lacks are empty in its rows. ${notes.slice(0, maxNamedColumns).join('. ')}${moreText}.`
}

/**
 * Describes how a column differs between objects. `columnsOfObjects` contains undefined for an object without the
 * column. Returns undefined if the column is the same in all objects.
 */
function describeColumnDifferences(
  unionColumn: Column,
  columnsOfObjects: readonly (Column | undefined)[],
): string | undefined {
  const existingColumns = columnsOfObjects.filter((column) => column !== undefined)
  const differences: string[] = []
  const lackingCount = columnsOfObjects.length - existingColumns.length
  if (lackingCount > 0) differences.push(`${lackingCount} of ${columnsOfObjects.length} do not have it`)
  const hasTypeChange = existingColumns.some(
    (column) => column.evidence !== 'NOTHING' && !hasSameType(column, unionColumn),
  )
  if (hasTypeChange) {
    const types = new Set(existingColumns.map(describeColumnType))
    differences.push(`it is ${[...types].join(' and ')}, and becomes ${describeColumnType(unionColumn)}`)
  }
  return differences.length > 0 ? `"${unionColumn.label}": ${differences.join('; ')}` : undefined
}

const describeColumnType = (column: Column): string => describeColumns([{ ...column, name: '' }]).trim()
