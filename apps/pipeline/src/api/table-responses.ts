import type { Column, QueryResult, Table } from '@sluice/contracts'
import type { WarehouseColumn, WarehouseTable } from '@sluice/warehouses/warehouse'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { type ColumnStatistics, readColumnStatistics } from '../table-profiles/stored-profiles.ts'
import { type TableDescriptions, readDescriptions } from '../table-descriptions/stored-descriptions.ts'

/** The display name of a table, and the descriptions and statistics of the table and its columns. */
export interface TableLabels {
  displayName?: string | undefined
  description?: string | undefined
  /** The descriptions by column name. */
  columnDescriptions?: ReadonlyMap<string, string> | undefined
  columnStatistics?: ColumnStatistics | undefined
}

export const toTableLabels = ({ name, description }: { name: string; description: string | null }): TableLabels => ({
  displayName: name,
  description: description ?? undefined,
})

/** Adds descriptions to labels. A description of the table itself replaces that of its pipeline or view. */
export const addDescriptions = (
  labels: TableLabels | undefined,
  { description, columnDescriptions }: TableDescriptions,
): TableLabels => ({ ...labels, description: description ?? labels?.description, columnDescriptions })

interface LabelledRow {
  client: string
  name: string
  description: string | null
}

/**
 * Returns the labels of the table of a pipeline or view, with descriptions and statistics. Call it only if the caller
 * may read the rows of the table, because statistics contain values.
 */
export async function readTableLabels(db: Kysely<DB>, row: LabelledRow, table: WarehouseTable): Promise<TableLabels> {
  const [findDescriptions, findStatistics] = await Promise.all([
    readDescriptions(db, row.client, [table]),
    readColumnStatistics(db, row.client, [table]),
  ])
  const columnStatistics = findStatistics(table)
  return { ...addDescriptions(toTableLabels(row), findDescriptions(table)), columnStatistics }
}

/** Converts a table of the warehouse to a resource, with its display name, descriptions and statistics. */
export function presentTable(
  { schema, name, columns, rowCount, size, foreignKeys }: WarehouseTable,
  { displayName, description, columnDescriptions, columnStatistics }: TableLabels = {},
): Table {
  return {
    schema,
    name,
    tableName: name,
    displayName,
    description,
    qualifiedTableName: `${schema}.${name}`,
    size,
    sizeMb: bytesToMegabytes(size),
    sizePretty: formatSize(size),
    rowCount,
    columnCount: columns.length,
    columns: columns.map((column) => ({
      ...presentColumn(column),
      ...presentStatistics(column, columnStatistics),
      description: columnDescriptions?.get(column.name),
      tableAlias: name,
      valueExpression: formatColumnReference(name, column.name),
      id: column.primaryKey && columns.filter(({ primaryKey }) => primaryKey).length === 1,
      sortKey: column.sortKey ?? false,
    })),
    foreignKeys,
  }
}

/**
 * Formats a column as `"cases"."region"`, which all warehouses accept. Returns undefined if that is too long for the
 * response field.
 */
function formatColumnReference(table: string, column: string): string | undefined {
  const expression = [table, column].map((name) => `"${name.replaceAll('"', '""')}"`).join('.')
  return expression.length <= 255 ? expression : undefined
}

/** Converts a column of the warehouse to a resource, without its description and statistics. */
export const presentColumn = ({
  label,
  name,
  dataType,
  primaryKey,
  deleted,
  created,
  sourceFormat,
  length,
  precision,
  scale,
}: WarehouseColumn): Column => ({
  label,
  name,
  dataType,
  dataTypeLabel: formatDataType({ dataType, length, precision, scale }),
  primaryKey,
  ...(deleted && { deleted }),
  created,
  sourceFormat,
  length,
})

/** Returns the response fields with the statistics of a column; empty if they are unknown. */
function presentStatistics(
  { name, dataType }: WarehouseColumn,
  statisticsByColumn: ColumnStatistics | undefined,
): Partial<Column> {
  const statistics = statisticsByColumn?.get(name)
  if (!statistics) return {}
  const { nulls, distinct, min, max } = statistics
  return {
    distinctValues: distinct,
    nullValues: nulls,
    minValue: toNumber(min, dataType),
    maxValue: toNumber(max, dataType),
  }
}

/** Formats a data type, for example as `Decimal(10, 2)`, `Varchar(30)` or `Timestamptz`. */
function formatDataType({
  dataType,
  length,
  precision,
  scale,
}: Pick<WarehouseColumn, 'dataType'> & Record<'length' | 'precision' | 'scale', number | undefined>): string {
  const typeName = dataType.replace(/_\d+$/, '').replaceAll('_', ' ').toLowerCase()
  const size = precision === undefined ? length : `${precision}, ${scale ?? 0}`
  const sizeText = size === undefined ? '' : `(${size})`
  return `${typeName[0]!.toUpperCase()}${typeName.slice(1)}${sizeText}`
}

const numericTypes = new Set(['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL', 'FLOAT', 'DOUBLE'])
const timeTypes = new Set(['DATE', 'TIMESTAMP', 'TIMESTAMPTZ'])

/**
 * Converts a minimum or maximum to a number. Dates and times become milliseconds since 1970-01-01T00:00:00Z. Returns
 * undefined for other types and for values that a JavaScript number cannot represent (NaN, a year after 275,760).
 * Rounds integers above 2^53.
 */
function toNumber(text: string | undefined, dataType: WarehouseColumn['dataType']): number | undefined {
  if (text === undefined) return undefined
  let number = Number.NaN
  if (numericTypes.has(dataType)) number = Number(text)
  else if (timeTypes.has(dataType)) number = parseTime(text)
  return Number.isFinite(number) ? number : undefined
}

/**
 * Parses `2020-01-31` or `2020-01-31 12:00:00.5`, with or without an offset such as `+00`. A time without an offset is
 * UTC.
 */
function parseTime(text: string): number {
  const { year, monthAndDay, time = '00:00:00', offset = 'Z' } = timePattern.exec(text)?.groups ?? {}
  if (year === undefined) return Number.NaN
  // JavaScript parses a year with more than four digits only if it has a sign and six digits.
  const isoYear = year.length > 4 ? `+${year.padStart(6, '0')}` : year
  const timeInMilliseconds = time.replace(/(\.\d{3})\d+$/, '$1')
  const isoOffset = /^[+-]\d\d$/.test(offset) ? `${offset}:00` : offset
  return Date.parse(`${isoYear}-${monthAndDay}T${timeInMilliseconds}${isoOffset}`)
}

const timePattern =
  /^(?<year>\d{4,6})-(?<monthAndDay>\d\d-\d\d)(?:[ T](?<time>\d\d:\d\d:\d\d(?:\.\d+)?))?(?<offset>[+-]\d\d(?::?\d\d)?|Z)?$/

/** Converts bytes to megabytes (10^6 bytes), rounded to two decimal places. */
export const bytesToMegabytes = (bytes: number): number => Math.round(bytes / 10_000) / 100

/** Formats bytes with a decimal unit, for example as `12.3 MB`. */
function formatSize(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${power === 0 ? bytes : (bytes / 1000 ** power).toFixed(1)} ${units[power]}`
}

/**
 * The result of a query or a source. `startedAt` is in ISO 8601. `rowCount` is set if `rows` does not contain all rows.
 */
interface QueryAnswer {
  columns: readonly WarehouseColumn[]
  rows: QueryResult['rows']
  rowCount?: number | undefined
  startedAt: string
  milliseconds: number
}

/** Presents rows as a table. Schema and size are empty. */
export function presentQueryResult(
  name: string,
  { columns, rows, rowCount = rows.length, startedAt, milliseconds }: QueryAnswer,
): QueryResult {
  return {
    schema: '',
    name,
    tableName: name,
    qualifiedTableName: name,
    size: 0,
    sizeMb: 0,
    sizePretty: '',
    rowCount,
    columnCount: columns.length,
    columns: columns.map(presentColumn),
    foreignKeys: [],
    queryStartTime: startedAt,
    queryDuration: milliseconds,
    rows,
    height: rows.length,
    width: columns.length,
  }
}
