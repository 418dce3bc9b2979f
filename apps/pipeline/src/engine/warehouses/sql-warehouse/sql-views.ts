import { withoutEnd } from '../../../sql-text.ts'
import { type DefinedView, definitionHash, type Place, type ViewDefinition, type WarehouseView } from '../views.ts'
import { type UserQuery, WarehouseProblem } from '../warehouse.ts'
import { tableOf } from './sql-catalog.ts'
import { type KeptView, keptViews, readsOf } from './dependent-views.ts'
import type { Dialect, Session } from './sql-dialect.ts'
import { marksIn, type ViewMark } from './ledger.ts'
import { check } from './sql-loader.ts'
import { placeSettled } from './replace-view.ts'
import { demandView, filled, forget, type Limits, type Placing, putInPlace } from './replace-view.ts'
import { queryProblemOf } from './problems.ts'
import { prepared } from './sql-queries.ts'
import { inTurn, settleFirst } from './recovery.ts'
import { asked, findRelation, readShape, type Shape, shownAs } from './table-shape.ts'

/** Seconds that filling a view may take. */
const longest = 7_200

const isAt = (one: Place, other: Place): boolean => one.schema === other.schema && one.name === other.name
const putThere = (dialect: Dialect, placing: Placing): Promise<void> =>
  dialect.publication === 'SETTLED' ? placeSettled(dialect, placing) : putInPlace(dialect, placing)
const problem = (code: string, sentence: string) => new WarehouseProblem(code, sentence)

/** See `WarehouseViews.defineView`. */
export async function defineView(
  dialect: Dialect,
  view: ViewDefinition,
  limits: Limits,
  signal: AbortSignal,
): Promise<DefinedView> {
  check(dialect, 'schema', view.schema)
  check(dialect, 'table', view.name)
  const { seconds } = limits
  const given: UserQuery = { text: view.query, schemas: [view.schema] }
  const place = { schema: view.schema, name: view.name }
  try {
    const [kept, there] = await asked(dialect, { role: 'service', signal }, async (session) => {
      await settleFirst(dialect, session)
      return [await keptViews(dialect, session), await readShape(dialect, session, place)] as const
    })
    const own = kept.filter(({ mark }) => mark.view.id === view.id)
    const free = !there || there.mark?.view?.id === view.id || (own.length === 0 && view.takesOver && there.mark?.view)
    if (!free) throw problem('VIEW_NAME_TAKEN', `${shownAs(place)} exists already. Choose another name for the view.`)
    const { text, reads } = await prepared(dialect, given)
    demandNoCircle(kept, place, reads)
    const mark = markOf(view, text, reads, limits)
    await demandView(dialect, place, text, limits, signal)
    const made = view.materialized ? await filled(dialect, place, mark, limits, signal) : mark
    signal.throwIfAborted()
    const instead = await asked(dialect, { role: 'service' }, (session) => standing(dialect, session, [...own, place]))
    await putThere(dialect, { place, instead, made })
    return { reads }
  } catch (error) {
    if (signal.aborted)
      throw problem(
        'QUERY_TIMEOUT',
        `${shownAs(place)} took longer than ${seconds} seconds to be made and was left as it was.`,
      )
    throw queryProblemOf(dialect, error, given, seconds)
  }
}

function markOf(view: ViewDefinition, query: string, reads: readonly Place[], { empty = false }: Limits): ViewMark {
  return {
    id: view.id,
    definition: definitionHash(view),
    materialized: view.materialized,
    populated: view.materialized && !empty,
    reads: reads.map(({ schema, name }) => [schema, name]),
    query,
    asked: withoutEnd(view.query),
  }
}

/** What is at these places, each once. */
async function standing(dialect: Dialect, session: Session, places: readonly Place[]): Promise<Shape[]> {
  const found = new Map<string, Shape>()
  for (const place of places) {
    const shape = await readShape(dialect, session, place)
    if (shape?.mark?.view) found.set(shape.id, shape)
  }
  return [...found.values()]
}

function demandNoCircle(kept: readonly KeptView[], view: Place, reads: readonly Place[]): void {
  const seen = new Set<KeptView>()
  const reaches = (place: Place): boolean => {
    if (isAt(place, view)) return true
    const next = kept.find((one) => isAt(one, place))
    if (!next || seen.has(next)) return false
    seen.add(next)
    return readsOf(next).some(reaches)
  }
  if (reads.some(reaches))
    throw problem('VIEW_READS_ITSELF', `${shownAs(view)} would read itself, at once or through other views.`)
}

/** A view, of ours or not. */
export async function findView(dialect: Dialect, session: Session, place: Place): Promise<WarehouseView | undefined> {
  const shape = await readShape(dialect, session, place)
  const mark = shape?.mark?.view
  if (!shape || !(mark || shape.kind === 'VIEW')) return undefined
  return {
    ...(await tableOf(dialect, session, shape)),
    materialized: mark?.materialized ?? false,
    populated: mark?.materialized ? mark.populated : true,
    ...(mark && { managed: { id: mark.id, definition: mark.definition } }),
  }
}

/** See `WarehouseViews.refreshView`: filled beside the old rows, which are read until it is done. */
export async function refreshView(
  dialect: Dialect,
  place: Place,
  signal: AbortSignal,
): Promise<{ rows: number; bytes: number }> {
  try {
    const before = await asked(dialect, { role: 'service', signal }, async (session) => {
      await settleFirst(dialect, session)
      return readShape(dialect, session, place)
    })
    const mark = before?.mark?.view
    if (!before || !mark?.materialized)
      throw problem('VIEW_MISSING', `The materialised view ${shownAs(place)} is not in the warehouse.`)
    const made = await filled(dialect, place, { ...mark, populated: true }, { seconds: longest }, signal)
    signal.throwIfAborted()
    await putThere(dialect, { place, instead: [before], made })
    return await asked(dialect, { role: 'service' }, async (session) => ({
      rows: made.mark.rows ?? 0,
      bytes: await dialect.catalogue.bytes(session, { ...place, id: made.id, kind: 'TABLE' }),
    }))
  } catch (error) {
    signal.throwIfAborted()
    throw queryProblemOf(dialect, error, {}, longest)
  }
}

/** See `WarehouseViews.dropView`. */
export async function dropView(dialect: Dialect, place: Place): Promise<void> {
  await inTurn(dialect, async ({ tables, ledger }) => {
    const shape = await readShape(dialect, tables, place)
    if (!shape || !(shape.mark?.view || shape.kind === 'VIEW')) return
    await demandUnread(dialect, tables, place)
    await forget(dialect, { tables, ledger }, shape)
  })
}

/** Refuses with VIEWS_DEPEND while a view reads it. */
export async function demandUnread(dialect: Dialect, session: Session, place: Place): Promise<void> {
  const readers = (await keptViews(dialect, session))
    .filter((view) => !isAt(view, place) && readsOf(view).some((read) => isAt(read, place)))
    .map(({ schema, name }) => `${schema}.${name}`)
  const all = [...new Set([...readers, ...(await viewsByHand(dialect, session, place))])]
  if (all.length > 0)
    throw problem('VIEWS_DEPEND', `${shownAs(place)} is still in use: ${all.join(', ')} read it. Drop that first.`)
}

/** Those that an operator made: the ledger knows nothing of them. */
export async function viewsByHand(dialect: Dialect, session: Session, place: Place): Promise<string[]> {
  const relation = await findRelation(dialect, session, place)
  const readers = (relation && (await dialect.catalogue.readers?.(session, relation))) ?? []
  if (readers.length === 0) return []
  const marks = await marksIn(dialect, session)
  return readers.filter(({ id }) => !marks.has(id)).map(({ schema, name }) => `${schema}.${name}`)
}
