import type { WarehouseMaintenance } from '../upkeep.ts'
import { deleteMetadata, type RelationMetadata, pruneRuns, readMetadata } from './publication-ledger.ts'
import { withPublishLock } from './publication-recovery.ts'
import type { CatalogRelation, SqlDialect, SqlSession } from './sql-dialect.ts'
import type { SqlSessions } from './sql-sessions.ts'
import { isHidden, isHiddenSchema, isRetired, withSession } from './table-shape.ts'

export function sqlUpkeep({ dialect, runOnServer, withServiceSession }: SqlSessions): WarehouseMaintenance {
  /**
   * For each relation without metadata and each empty schema, the time at which a sweep first found it. Another process
   * may be creating it.
   */
  const firstFoundByObject = new Map<string, number>()
  return {
    check: () =>
      withServiceSession('the warehouse', async (session) => void (await dialect.catalogue.schemas(session))),
    // Always 0: sessions open on demand and close after use.
    countConnections: () => 0,
    sweepStaging: (listLiveRuns) =>
      runOnServer('the warehouse', () => sweepStaging(dialect, listLiveRuns, firstFoundByObject)),
    pruneLedger: (keepDays) => withServiceSession('the ledger', (session) => pruneRuns(dialect, session, keepDays)),
    dropExpiredTables: async () => 0,
  }
}

/**
 * Milliseconds after which a relation without metadata counts as left over. This is longer than a process needs to
 * write the metadata.
 */
const noMetadataGraceMs = 600_000
/**
 * Seconds that a sweep waits for readers of a table that it drops. It is short, because loads may wait for the sweep.
 */
const dropWaitSeconds = 60

/**
 * Drops hidden tables and schemas of dead runs, and expired temporary relations. Returns the number of dropped staging
 * tables. Lists the relations first and the live runs second: a run is registered before its tables exist, so tables of
 * live runs stay. Metadata is deleted only if its relation exists nowhere, because a hidden table may have been
 * published in the meantime.
 */
async function sweepStaging(
  dialect: SqlDialect,
  listLiveRuns: () => Promise<ReadonlySet<string>>,
  firstFoundByObject: Map<string, number>,
): Promise<number> {
  const droppedCount = await withPublishLock(dialect, async ({ ledger, tables: session }) => {
    const relations = await dialect.catalogue.relations(session)
    const metadataById = await readMetadata(dialect, ledger)
    const liveRuns = await listLiveRuns()
    const leftovers = trackLeftovers(firstFoundByObject)
    const isExpired = ({ id, name }: CatalogRelation) => {
      const metadata = metadataById.get(id)
      if (!metadata) return isRetired(name) || leftovers.isLeftover(`relation ${id}`)
      if (metadata.kind === 'PASSING') return (metadata.until ?? 0) < Date.now()
      return metadata.run === undefined || !liveRuns.has(metadata.run)
    }
    const hiddenRelations = relations.filter(({ schema, name }) => isHidden(name) || isHiddenSchema(schema))
    await dropRelations(dialect, hiddenRelations.filter(isExpired))
    const remainingRelations = await dialect.catalogue.relations(session)
    await dropEmptySchemas(dialect, session, remainingRelations, leftovers.isLeftover)
    leftovers.rememberFound()
    return deleteStaleMetadata(dialect, ledger, remainingRelations, metadataById)
  })
  await dialect.sweep?.(listLiveRuns)
  return droppedCount
}

/**
 * Returns the functions with which one sweep finds leftovers. A relation without metadata, or an empty schema, may
 * belong to a process that is still creating it. So it is a leftover only once sweeps have found it for
 * `noMetadataGraceMs`. `firstFoundByObject` has the times at which earlier sweeps first found objects.
 */
function trackLeftovers(firstFoundByObject: Map<string, number>) {
  const foundNow = new Map<string, number>()
  return {
    /** Records that this sweep has found the object. Returns whether the object is a leftover. */
    isLeftover(objectKey: string): boolean {
      const firstFoundAt = firstFoundByObject.get(objectKey) ?? Date.now()
      foundNow.set(objectKey, firstFoundAt)
      return Date.now() - firstFoundAt >= noMetadataGraceMs
    },
    /** Stores the found objects for the next sweep. Forgets all others: they have metadata now, or are gone. */
    rememberFound(): void {
      firstFoundByObject.clear()
      for (const [objectKey, firstFoundAt] of foundNow) firstFoundByObject.set(objectKey, firstFoundAt)
    },
  }
}

/** Drops tables and views. Ignores errors, because the next sweep tries again. */
async function dropRelations(dialect: SqlDialect, relations: readonly CatalogRelation[]): Promise<void> {
  if (relations.length === 0) return
  const { dropView, dropTable } = dialect.changes
  await withSession(dialect, { role: 'service', seconds: dropWaitSeconds }, async (session) => {
    for (const relation of relations)
      await session.execute(relation.kind === 'VIEW' ? dropView(relation) : dropTable(relation)).catch(() => {})
  })
}

/** Drops hidden schemas without relations, if earlier sweeps have found them empty long enough (`isLeftover`). */
async function dropEmptySchemas(
  dialect: SqlDialect,
  session: SqlSession,
  relations: readonly CatalogRelation[],
  isLeftover: (objectKey: string) => boolean,
): Promise<void> {
  const usedSchemas = new Set(relations.map(({ schema }) => schema))
  for (const schema of await dialect.catalogue.schemas(session)) {
    const isEmptyHiddenSchema = isHiddenSchema(schema) && !usedSchemas.has(schema)
    if (!isEmptyHiddenSchema || !isLeftover(`schema ${schema}`)) continue
    for (const statement of dialect.changes.dropSchema(schema)) await session.execute(statement).catch(() => {})
  }
}

/**
 * Deletes the metadata of relations that no longer exist. Returns the number of staging tables among them. Keeps
 * metadata that was added after the listing.
 */
async function deleteStaleMetadata(
  dialect: SqlDialect,
  session: SqlSession,
  relations: readonly CatalogRelation[],
  metadataById: ReadonlyMap<string, RelationMetadata>,
): Promise<number> {
  const existingIds = new Set(relations.map(({ id }) => id))
  let droppedCount = 0
  for (const [id, { kind }] of metadataById) {
    if (existingIds.has(id)) continue
    await deleteMetadata(dialect, session, id)
    if (kind === 'STAGING') droppedCount += 1
  }
  return droppedCount
}
