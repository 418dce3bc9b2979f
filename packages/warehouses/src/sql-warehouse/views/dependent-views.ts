import type { TablePlace } from '../../catalog.ts'
import type { SqlDialect, SqlSession } from '../sql-dialect.ts'
import {
  type RelationMetadata,
  type ViewMetadata,
  deleteMetadata,
  readMetadata,
  setMetadata,
} from '../publication-ledger.ts'
import { withSession, findRelation, hiddenName, placeKey, type TableSubstitutes } from '../table-shape.ts'
import { randomUUID } from 'node:crypto'
import { prepareQuery } from '../sql-queries.ts'
import type { DecisionStep, PublicationDecision } from '../publication-recovery.ts'

export interface ManagedView extends TablePlace {
  id: string
  metadata: RelationMetadata & { view: ViewMetadata }
}

/** Lists the views that Sluice manages, which are those with metadata in the ledger (Sluice's table of loads). */
export async function listManagedViews(dialect: SqlDialect, session: SqlSession): Promise<ManagedView[]> {
  const metadataById = await readMetadata(dialect, session)
  const relations = await dialect.catalogue.relations(session)
  return relations.flatMap(({ id, schema, name }) => {
    const metadata = metadataById.get(id)
    return metadata?.view ? [{ id, schema, name, metadata: { ...metadata, view: metadata.view } }] : []
  })
}

/** Returns the tables and views that a view reads directly. */
export const listReads = ({ metadata }: ManagedView): TablePlace[] =>
  metadata.view.reads.map(([schema, name]) => ({ schema, name }))

/**
 * Returns the plain (not materialised) views that read one of the places, directly or through other views. A view comes
 * after the views that it reads.
 */
export function findDependentViews(views: readonly ManagedView[], places: readonly TablePlace[]): ManagedView[] {
  const plainViews = views.filter(({ metadata }) => !metadata.view.materialized)
  const dependents = new Set<ManagedView>()
  const addReadersOf = (place: TablePlace) => {
    const readers = plainViews.filter((view) =>
      listReads(view).some(({ schema, name }) => schema === place.schema && name === place.name),
    )
    for (const view of readers) {
      // Moves a view that was added before to the end of the set, after the view `place`, which it reads too.
      dependents.delete(view)
      dependents.add(view)
      addReadersOf(view)
    }
  }
  for (const place of places) addReadersOf(place)
  return [...dependents]
}

/**
 * Drops views and their metadata, each before the views that it reads. `views` are in the order of
 * `findDependentViews`.
 */
export async function dropViews(
  dialect: SqlDialect,
  session: SqlSession,
  views: readonly ManagedView[],
): Promise<void> {
  for (const view of views.toReversed()) {
    await session.execute(dialect.changes.dropView(view))
    await deleteMetadata(dialect, session, view.id)
  }
}

/**
 * Recreates views and their metadata, each after the views that it reads. `views` are in the order of
 * `findDependentViews`.
 */
export async function recreateViews(
  dialect: SqlDialect,
  session: SqlSession,
  views: readonly ManagedView[],
): Promise<void> {
  for (const view of views) {
    for (const statement of dialect.changes.createView(view, view.metadata.view.query)) await session.execute(statement)
    const { id } = (await findRelation(dialect, session, view))!
    await setMetadata(dialect, session, id, view.metadata)
  }
}

/** Returns the step of a decision that recreates a view. If the view has become invalid, the old view stays. */
export const recreateStep = ({ schema, name, metadata }: ManagedView): DecisionStep => ({
  kind: 'VIEW',
  place: { schema, name },
  query: metadata.view.query,
  kept: true,
})

/** Returns the metadata that a decision stores for a recreated view. */
export const recreateMark = ({ schema, name, id, metadata }: ManagedView): PublicationDecision['marks'][number] => ({
  place: { schema, name },
  id,
  mark: metadata,
})

/**
 * Checks that views compile with replaced tables: creates each under a hidden name, reading the substitutes of its
 * tables, and drops it again. In `views`, a view must come after the views that it reads. Returns the ids of the
 * views. Throws the server's error if a view does not compile.
 */
export async function assertViewsCompile(
  dialect: SqlDialect,
  views: readonly ManagedView[],
  tableSubstitutes: TableSubstitutes,
): Promise<ReadonlySet<string>> {
  if (views.length === 0) return new Set()
  const substitutes = new Map(tableSubstitutes)
  const createdViews: TablePlace[] = []
  await withSession(dialect, { role: 'service' }, async (session) => {
    try {
      for (const view of views) {
        const { text } = await prepareQuery(
          dialect,
          { text: view.metadata.view.asked, schemas: [view.schema] },
          { substitutes },
        )
        const hiddenView = { schema: view.schema, name: hiddenName('view', randomUUID()) }
        // Added before the view is created, because even a failed request may have created it.
        createdViews.push(hiddenView)
        for (const statement of dialect.changes.createView(hiddenView, text)) await session.execute(statement)
        // Later views that read this view then read its hidden copy.
        substitutes.set(placeKey(view), hiddenView)
      }
    } finally {
      for (const place of createdViews.toReversed())
        await session.execute(dialect.changes.dropView(place)).catch(() => {})
    }
  })
  return new Set(views.map(({ id }) => id))
}

/** True if views were added or changed since the check that they compile. */
export const hasUncheckedViews = (views: readonly ManagedView[], checkedViews: ReadonlySet<string>): boolean =>
  views.some(({ id }) => !checkedViews.has(id))
