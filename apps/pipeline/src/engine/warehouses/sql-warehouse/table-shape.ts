import { historyOf } from '../shape/feed-memory.ts'
import { createHash } from 'node:crypto'
import type { DataType } from '@sluice/contracts'
import type { TablePlace } from '../views.ts'
import type { WarehouseColumn } from '../warehouse.ts'
import type { CatalogColumn, Dialect, SessionOptions, CatalogRelation, Session } from './sql-dialect.ts'
import { type Mark, readMarks } from './ledger.ts'

export interface ShapeColumn extends CatalogColumn {
  label: string
  dataType: DataType
  primaryKey: boolean
  /** An earlier load fed it, and the last one did not. */
  deleted?: boolean
}

/** A table or view as the server has it, and what the ledger knows of it. */
export interface TableShape extends CatalogRelation {
  mark: Mark | undefined
  columns: ShapeColumn[]
}

/** What only we see stands under such names: tables in the client's schemas, and schemas. */
const hiddenTable = 'sluice~'
const hiddenSchema = 'sluice-'

export const isHidden = (name: string): boolean => name.startsWith(hiddenTable)
export const isHiddenSchema = (name: string): boolean => name.startsWith(hiddenSchema)

/** A hidden name, always the same for the same parts. */
export function hiddenName(kind: string, ...parts: readonly unknown[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 24)
  return `${hiddenTable}${kind}_${hash}`
}

/** Of the table that gives way to a publication. */
export const retiredTableName = (id: string, run: string): string => hiddenName('old', id, run)
export const isRetired = (name: string): boolean => name.startsWith(`${hiddenTable}old_`)

/** The same for a schema. */
export const hiddenSchemaName = (kind: string, ...parts: readonly unknown[]): string =>
  hiddenName(kind, ...parts).replace(hiddenTable, hiddenSchema)

/** As keys of maps call it. */
export const placeKey = ({ schema, name }: TablePlace): string => JSON.stringify([schema, name])

/** As sentences call it. */
export const quotePlace = ({ schema, name }: TablePlace): string => `"${schema}"."${name}"`

/** One connection for one piece of work. */
export async function withSession<Result>(
  dialect: Dialect,
  opening: SessionOptions,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  await using session = await dialect.open(opening)
  return await work(session)
}

export async function findRelation(
  { catalogue }: Dialect,
  session: Session,
  place: TablePlace,
): Promise<CatalogRelation | undefined> {
  const there = await catalogue.relations(session, [place.schema])
  return there.find(({ schema, name }) => schema === place.schema && name === place.name)
}

export async function readShape(
  dialect: Dialect,
  session: Session,
  place: TablePlace,
): Promise<TableShape | undefined> {
  const relation = await findRelation(dialect, session, place)
  return relation && shapeOf(dialect, session, relation)
}

export async function shapeOf(
  dialect: Dialect,
  session: Session,
  relation: CatalogRelation,
  marks?: ReadonlyMap<string, Mark>,
): Promise<TableShape> {
  const columns = await dialect.catalogue.columns(session, relation)
  const mark = (marks ?? (await readMarks(dialect, session, relation.id))).get(relation.id)
  const keys = new Set(mark?.keys)
  const history = historyOf(mark?.feed)
  return {
    ...relation,
    mark,
    columns: columns.map((column) => ({
      ...column,
      label: mark?.labels?.[column.name] ?? column.name,
      dataType: mark?.dataTypes?.[column.name] ?? dialect.types.describe(column.type).dataType,
      primaryKey: keys.has(column.name),
      ...history(column.name),
    })),
  }
}

export const describeColumn = ({ types }: Dialect, column: ShapeColumn): WarehouseColumn => ({
  name: column.name,
  label: column.label,
  ...types.describe(column.type),
  dataType: column.dataType,
  primaryKey: column.primaryKey,
  ...(column.deleted && { deleted: true }),
})

/** The tables that stand in for others, by `placeKey`. */
export type TableSubstitutes = ReadonlyMap<string, TablePlace>
