import { measuredColumn } from '../measured.ts'
import type { FeedMemory } from '../shape/feed-memory.ts'
import type { TablePlace, StagingTable } from '../views.ts'
import type { WarehouseTable } from '../warehouse.ts'
import type { Dialect, CatalogRelation, Session } from './sql-dialect.ts'
import { dropMark, type Mark, readMarks } from './ledger.ts'
import { feedOf } from './plan-table.ts'
import { withPublishLock } from './recovery.ts'
import {
  withSession,
  describeColumn,
  isRetired,
  isHidden,
  isHiddenSchema,
  placeKey,
  readShape,
  type TableShape,
  shapeOf,
} from './table-shape.ts'

/** Returns the table. The load counted the rows and measured the columns. */
export async function describeTable(dialect: Dialect, session: Session, shape: TableShape): Promise<WarehouseTable> {
  const profiles = new Map(shape.mark?.profile?.map((profile) => [profile.column, profile]))
  return {
    schema: shape.schema,
    name: shape.name,
    columns: shape.columns.map((column) => ({
      ...describeColumn(dialect, column),
      ...measuredColumn(profiles.get(column.name)),
    })),
    rowCount: shape.mark?.rows ?? 0,
    size: shape.kind === 'VIEW' ? 0 : await dialect.catalogue.bytes(session, shape),
    foreignKeys: [],
  }
}

export async function findTables(
  dialect: Dialect,
  session: Session,
  places: readonly TablePlace[],
): Promise<WarehouseTable[]> {
  if (places.length === 0) return []
  const marks = await readMarks(dialect, session)
  const there = new Map<string, CatalogRelation>()
  for (const relation of await dialect.catalogue.relations(session, [...new Set(places.map(({ schema }) => schema))]))
    there.set(placeKey(relation), relation)
  const found: WarehouseTable[] = []
  for (const place of places) {
    const relation = there.get(placeKey(place))
    if (relation) found.push(await describeTable(dialect, session, await shapeOf(dialect, session, relation, marks)))
  }
  return found
}

/** Lists the client's own schemas, sorted by name. */
export async function listSchemas({ catalogue }: Dialect, session: Session): Promise<string[]> {
  return (await catalogue.schemas(session)).filter((name) => !isHiddenSchema(name)).toSorted()
}

/** Sorted by schema, then by name. */
export async function listRelations(
  { catalogue }: Dialect,
  session: Session,
  schemas: readonly string[],
): Promise<TablePlace[]> {
  if (schemas.length === 0) return []
  const there = await catalogue.relations(session, [...new Set(schemas)])
  return there
    .filter(({ name }) => !isHidden(name))
    .map(({ schema, name }) => ({ schema, name }))
    .toSorted((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1))
}

const sortKey = ({ schema, name }: TablePlace): string => `${schema}\0${name}`

/** Returns the newest staging table for this table. */
export async function findStaging(
  dialect: Dialect,
  session: Session,
  { schema, name }: TablePlace,
): Promise<StagingTable | undefined> {
  const marks = await readMarks(dialect, session)
  const waiting = (await dialect.catalogue.relations(session, [schema]))
    .flatMap((relation) => {
      const mark = marks.get(relation.id)
      const ours = mark?.kind === 'STAGING' && mark.target?.[0] === schema && mark.target[1] === name
      return ours && mark.run !== undefined ? [{ relation, mark, run: mark.run }] : []
    })
    .toSorted((one, other) => (other.mark.madeAt ?? 0) - (one.mark.madeAt ?? 0))
  const [newest] = waiting
  if (!newest) return undefined
  const shape = await shapeOf(dialect, session, newest.relation, marks)
  return { ...(await describeTable(dialect, session, shape)), run: newest.run }
}

/** Milliseconds for which a relation may be under construction: longer than a process needs to mark it. */
const unmarkedGraceMs = 600_000
/** Seconds that a sweep waits for readers of a table that it drops. Loads may wait for the sweep. */
const dropWaitSeconds = 60

/**
 * Drops hidden tables and schemas of runs that are not alive, and temporary relations that have expired. Lists them first and
 * reads the live runs second: a run is registered before its tables exist. A relation without a mark, or an empty schema, may be
 * under construction: it is dropped when a later sweep finds it again after a delay, which `unsure` records; a table that a
 * publication replaced no longer has a mark. A mark is dropped only when its relation exists nowhere: in the time between, it may
 * have become a table.
 */
export async function sweepStaging(
  dialect: Dialect,
  alive: () => Promise<ReadonlySet<string>>,
  unsure: Map<string, number>,
): Promise<number> {
  const dropped = await withPublishLock(dialect, async ({ ledger, tables: session }) => {
    const relations = await dialect.catalogue.relations(session)
    const marks = await readMarks(dialect, ledger)
    const runs = await alive()
    const unsureNow = new Map<string, number>()
    const isLeft = (what: string) => {
      const since = unsure.get(what) ?? Date.now()
      unsureNow.set(what, since)
      return Date.now() - since >= unmarkedGraceMs
    }
    const isOver = ({ id, name }: CatalogRelation) => {
      const mark = marks.get(id)
      if (!mark) return isRetired(name) || isLeft(`relation ${id}`)
      if (mark.kind === 'PASSING') return (mark.until ?? 0) < Date.now()
      return mark.run === undefined || !runs.has(mark.run)
    }
    const hidden = relations.filter(({ schema, name }) => isHidden(name) || isHiddenSchema(schema))
    await dropAll(dialect, hidden.filter(isOver))
    const left = await dialect.catalogue.relations(session)
    await dropEmptySchemas(dialect, session, left, isLeft)
    unsure.clear()
    for (const [what, since] of unsureNow) unsure.set(what, since)
    return dropStaleMarks(dialect, ledger, left, marks)
  })
  await dialect.sweep?.(alive)
  return dropped
}

async function dropAll(dialect: Dialect, relations: readonly CatalogRelation[]): Promise<void> {
  if (relations.length === 0) return
  const { dropView, dropTable } = dialect.changes
  await withSession(dialect, { role: 'service', seconds: dropWaitSeconds }, async (session) => {
    for (const one of relations)
      await session.execute(one.kind === 'VIEW' ? dropView(one) : dropTable(one)).catch(() => {})
  })
}

async function dropEmptySchemas(
  dialect: Dialect,
  session: Session,
  relations: readonly CatalogRelation[],
  isLeft: (what: string) => boolean,
): Promise<void> {
  const used = new Set(relations.map(({ schema }) => schema))
  for (const schema of await dialect.catalogue.schemas(session)) {
    if (!isHiddenSchema(schema) || used.has(schema) || !isLeft(`schema ${schema}`)) continue
    for (const statement of dialect.changes.dropSchema(schema)) await session.execute(statement).catch(() => {})
  }
}

/**
 * Deletes the marks of relations that are gone; returns the number of staging tables among them. Excludes marks that were added
 * after the listing.
 */
async function dropStaleMarks(
  dialect: Dialect,
  session: Session,
  relations: readonly CatalogRelation[],
  marks: ReadonlyMap<string, Mark>,
): Promise<number> {
  const there = new Set(relations.map(({ id }) => id))
  let staging = 0
  for (const [id, { kind }] of marks) {
    if (there.has(id)) continue
    await dropMark(dialect, session, id)
    if (kind === 'STAGING') staging += 1
  }
  return staging
}

export async function findFeed(dialect: Dialect, session: Session, place: TablePlace): Promise<FeedMemory | undefined> {
  return feedOf(await readShape(dialect, session, place))
}

export async function findCursor(dialect: Dialect, session: Session, place: TablePlace): Promise<unknown> {
  return (await readShape(dialect, session, place))?.mark?.cursor
}
