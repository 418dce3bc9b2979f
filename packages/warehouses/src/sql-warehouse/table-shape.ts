import { checkIdentifier, refusedName } from '../sql-text/check-identifier.ts'
import type { TablePlace } from '../catalog.ts'
import { parseProfileReference } from '../load-target.ts'
import { createColumnHistory } from '../shape/previous-source-columns.ts'
import { createHash } from 'node:crypto'
import type { DataType } from '@sluice/contracts'
import type { WarehouseColumn, WarehouseTable } from '../warehouse.ts'
import type { CatalogColumn, SqlDialect, SessionOptions, CatalogRelation, SqlSession } from './sql-dialect.ts'
import { type RelationMetadata, readMetadata, setMetadata } from './publication-ledger.ts'
import { plainSql } from './sql-statement.ts'

export interface ShapeColumn extends CatalogColumn {
  label: string
  dataType: DataType
  primaryKey: boolean
  /** True if an earlier load had the column and the last load did not. */
  deleted?: boolean
  /** The time at which a load first created the column, as ISO 8601. */
  created?: string
  /** The form in which the source prints all values. */
  sourceFormat?: string
}

/** A table or view from the server's catalogue, together with the ledger's metadata. */
export interface TableShape extends CatalogRelation {
  metadata: RelationMetadata | undefined
  columns: ShapeColumn[]
}

/**
 * Name prefixes of hidden relations and schemas, which users do not see. The tables are in the organisation's schemas.
 */
const hiddenTablePrefix = 'sluice~'
const hiddenSchemaPrefix = 'sluice-'

export const isHidden = (name: string): boolean => name.startsWith(hiddenTablePrefix)
export const isHiddenSchema = (name: string): boolean => name.startsWith(hiddenSchemaPrefix)

/**
 * Returns a hidden table name, such as `sluice~load_…`. `kind` is the purpose of the table. The name ends with a
 * hash of `identity`, so the same arguments always give the same name.
 */
export function hiddenName(kind: string, ...identity: readonly unknown[]): string {
  const hash = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 24)
  return `${hiddenTablePrefix}${kind}_${hash}`
}

/** Returns the hidden name for a table that a publication replaced. */
export const retiredTableName = (id: string, run: string): string => hiddenName('old', id, run)
export const isRetired = (name: string): boolean => name.startsWith(`${hiddenTablePrefix}old_`)

/** Returns a hidden schema name. The same arguments always give the same name. */
export const hiddenSchemaName = (kind: string, ...identity: readonly unknown[]): string =>
  hiddenName(kind, ...identity).replace(hiddenTablePrefix, hiddenSchemaPrefix)

/** Returns a map key for a table or view. */
export const placeKey = ({ schema, name }: TablePlace): string => JSON.stringify([schema, name])

/** Formats the name of a table or view for messages. */
export const quotePlace = ({ schema, name }: TablePlace): string => `"${schema}"."${name}"`

/** Opens a session, runs `callback` and closes the session. */
export async function withSession<Result>(
  dialect: SqlDialect,
  opening: SessionOptions,
  callback: (session: SqlSession) => Promise<Result>,
): Promise<Result> {
  await using session = await dialect.open(opening)
  return await callback(session)
}

export async function findRelation(
  { catalogue }: SqlDialect,
  session: SqlSession,
  place: TablePlace,
): Promise<CatalogRelation | undefined> {
  const relations = await catalogue.relations(session, [place.schema])
  return relations.find(({ schema, name }) => schema === place.schema && name === place.name)
}

/** Reads a table or view with its columns and its ledger metadata. Returns undefined if it does not exist. */
export async function readShape(
  dialect: SqlDialect,
  session: SqlSession,
  place: TablePlace,
): Promise<TableShape | undefined> {
  const relation = await findRelation(dialect, session, place)
  return relation && shapeOf(dialect, session, relation)
}

/**
 * Returns a relation with its columns and its ledger metadata. Pass the metadata if it has already been read; otherwise
 * this function reads it.
 */
export async function shapeOf(
  dialect: SqlDialect,
  session: SqlSession,
  relation: CatalogRelation,
  metadataById?: ReadonlyMap<string, RelationMetadata>,
): Promise<TableShape> {
  const columns = await dialect.catalogue.columns(session, relation)
  const knownMetadata = metadataById ?? (await readMetadata(dialect, session, relation.id))
  const metadata = knownMetadata.get(relation.id)
  const keys = new Set(metadata?.keys)
  const findColumnHistory = createColumnHistory(metadata?.feed)
  return {
    ...relation,
    metadata,
    columns: columns.map((column) => ({
      ...column,
      label: metadata?.labels?.[column.name] ?? column.name,
      dataType: metadata?.dataTypes?.[column.name] ?? dialect.types.describe(column.type).dataType,
      primaryKey: keys.has(column.name),
      ...findColumnHistory(column.name),
    })),
  }
}

export const describeColumn = ({ types }: SqlDialect, column: ShapeColumn): WarehouseColumn => ({
  name: column.name,
  label: column.label,
  ...types.describe(column.type),
  dataType: column.dataType,
  primaryKey: column.primaryKey,
  ...(column.deleted && { deleted: true }),
  ...(column.created !== undefined && { created: column.created }),
  ...(column.sourceFormat !== undefined && { sourceFormat: column.sourceFormat }),
})

/** Substitute tables by `placeKey` of the table that they replace. */
export type TableSubstitutes = ReadonlyMap<string, TablePlace>

/** Describes a table for the API. The row count is the one that the load recorded. */
export async function describeTable(
  dialect: SqlDialect,
  session: SqlSession,
  shape: TableShape,
): Promise<WarehouseTable> {
  const profile = parseProfileReference(shape.metadata?.profile)
  return {
    schema: shape.schema,
    name: shape.name,
    columns: shape.columns.map((column) => describeColumn(dialect, column)),
    rowCount: shape.metadata?.rows ?? 0,
    size: shape.kind === 'VIEW' ? 0 : await dialect.catalogue.bytes(session, shape),
    foreignKeys: [],
    ...(profile && { profile }),
  }
}

/** Lists the organisation's schemas without Sluice's hidden ones, sorted by name. */
export async function listSchemas({ catalogue }: SqlDialect, session: SqlSession): Promise<string[]> {
  return (await catalogue.schemas(session)).filter((name) => !isHiddenSchema(name)).toSorted()
}

/** Lists the relations of these schemas without Sluice's hidden ones, sorted by schema, then by name. */
export async function listRelations(
  { catalogue }: SqlDialect,
  session: SqlSession,
  schemas: readonly string[],
): Promise<TablePlace[]> {
  if (schemas.length === 0) return []
  const relations = await catalogue.relations(session, [...new Set(schemas)])
  return relations
    .filter(({ name }) => !isHidden(name))
    .map(({ schema, name }) => ({ schema, name }))
    .toSorted((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1))
}

const sortKey = ({ schema, name }: TablePlace): string => `${schema}\0${name}`

/** Throws INVALID_NAME for a name that the warehouse does not allow or that Sluice uses for hidden relations. */
export function checkName({ names }: SqlDialect, kind: 'schema' | 'table' | 'column', name: string): void {
  checkIdentifier(kind, name)
  const isReserved = (kind === 'schema' && isHiddenSchema(name)) || (kind === 'table' && isHidden(name))
  if (isReserved) throw refusedName(kind, name, 'is reserved')
  names.check(kind, name)
}

/**
 * Creates an empty table that role `load` may fill, and returns its object id. First drops a table of this name from an
 * earlier attempt.
 */
export async function createFillableTable(
  dialect: SqlDialect,
  session: SqlSession,
  place: TablePlace,
  columns: readonly { name: string; type: string; nullable: boolean }[],
  metadata: RelationMetadata,
): Promise<string> {
  const { changes } = dialect
  await session.execute(changes.dropTable(place))
  await session.execute(changes.createTable(place, columns))
  const { id } = (await findRelation(dialect, session, place))!
  await setMetadata(dialect, session, id, metadata)
  for (const statement of changes.grant(place, 'FILL')) await session.execute(statement)
  return id
}

export async function countRows({ names }: SqlDialect, session: SqlSession, place: TablePlace): Promise<number> {
  const [row] = await session.rows<{ n: number | string }>(plainSql(`select count(*) as n from ${names.place(place)}`))
  return Number(row!.n)
}
