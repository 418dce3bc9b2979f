import { randomUUID } from 'node:crypto'
import { uniqueNames } from '../identifiers.ts'
import type { Place } from '../views.ts'
import { dropViews, keptViews, remakeViews, viewsAbove } from './dependent-views.ts'
import type { Dialect } from './sql-dialect.ts'
import { type Mark, type ViewMark, dropMark, lockLedger, setMark } from './ledger.ts'
import { countRows, makeFilled } from './merge.ts'
import { columnsOf } from './sql-queries.ts'
import type { Hands, Step } from './recovery.ts'
import { decide, dropAside, inTurn, patiently, settle, together } from './recovery.ts'
import { type Shape, asked, findRelation, hiddenName, keyOf, readShape, shownAs } from './table-shape.ts'
import { changedMeanwhile, viewsDepend } from './problems.ts'
import { demandSense, untried } from './dependent-views.ts'

/** Seconds after which what a maker that died has left is swept. */
const slack = 600

export interface Limits {
  seconds: number
  empty?: boolean
}

/**
 * Whether the server takes the query as a view: it is made under a hidden name and taken away. So nothing that is read is touched
 * before that is known.
 */
export async function demandView(
  dialect: Dialect,
  { schema }: Place,
  query: string,
  { seconds }: Limits,
  signal: AbortSignal,
): Promise<void> {
  const place = { schema, name: hiddenName('view', randomUUID()) }
  await asked(dialect, { role: 'service', schemas: [schema], seconds, signal }, (session) => {
    const tried = async () => {
      for (const statement of dialect.changes.createView(place, query)) await session.execute(statement)
      await session.execute(dialect.changes.dropView(place))
    }
    return together(dialect, session, tried)
  })
}

/** A table with the rows of a query, out of sight. */
export interface Filled extends Place {
  id: string
  mark: Mark
}

/** As role `load`, at the types that the query has. */
export const filled = (dialect: Dialect, ...given: Tail<Parameters<typeof fill>>): Promise<Filled> =>
  patiently(dialect, () => fill(dialect, ...given))

type Tail<All extends unknown[]> = All extends [unknown, ...infer Rest] ? Rest : never

async function fill(
  dialect: Dialect,
  { schema }: Place,
  view: ViewMark,
  { seconds, empty = false }: Limits,
  signal: AbortSignal,
): Promise<Filled> {
  const found = await columnsOf(dialect, view.query, { schemas: [schema], signal, seconds })
  const names = uniqueNames(found.map(({ name }) => name))
  const columns = found.map(({ type }, index) => ({ name: names[index]!, type, nullable: true }))
  const place = { schema, name: hiddenName('view', randomUUID()) }
  const passing: Mark = { kind: 'PASSING', until: Date.now() + (seconds + slack) * 1_000 }
  const id = await asked(dialect, { role: 'service' }, (session) =>
    makeFilled(dialect, session, place, columns, passing),
  )
  try {
    const rows = await asked(dialect, { role: 'load', schemas: [schema], seconds, signal }, async (session) => {
      if (!empty)
        for (const statement of dialect.changes.insert(place, names, view.query)) await session.execute(statement)
      return countRows(dialect, session, place)
    })
    return { ...place, id, mark: { kind: 'VIEW', rows, view } }
  } catch (error) {
    await asked(dialect, { role: 'service' }, (session) =>
      forget(dialect, { tables: session, ledger: session }, { ...place, id, kind: 'TABLE' }),
    ).catch(() => {})
    throw error
  }
}

/** Takes a view away, with or without rows of its own. */
export async function forget(
  dialect: Dialect,
  { tables, ledger }: Hands,
  relation: Pick<Shape, 'schema' | 'name' | 'kind' | 'id'>,
): Promise<void> {
  const { dropView, dropTable } = dialect.changes
  await tables.execute(relation.kind === 'VIEW' ? dropView(relation) : dropTable(relation))
  await dropMark(dialect, ledger, relation.id)
}

export interface Placing {
  place: Place
  /** What stands there or elsewhere and gives way. */
  instead: readonly Pick<Shape, 'schema' | 'name' | 'kind' | 'id'>[]
  /** A table with its rows; or the view that is made. */
  made: Filled | ViewMark
}

/** At one stroke, and the views above it anew. Throws VIEWS_DEPEND, with nothing changed, where one of them makes no sense any more. */
export async function putInPlace(dialect: Dialect, { place, instead, made }: Placing): Promise<void> {
  await asked(dialect, { role: 'service' }, (session) =>
    session.transaction(async () => {
      await lockLedger(dialect, session)
      const above = viewsAbove(await keptViews(dialect, session), [place])
      await dropViews(dialect, session, above)
      for (const relation of instead) await forget(dialect, { tables: session, ledger: session }, relation)
      if ('mark' in made) {
        await session.execute(dialect.changes.rename(made, place.name))
        for (const statement of dialect.changes.grant(place, 'READ')) await session.execute(statement)
        await setMark(dialect, session, made.id, made.mark)
      } else {
        for (const statement of dialect.changes.createView(place, made.query)) await session.execute(statement)
        await setMark(dialect, session, (await findRelation(dialect, session, place))!.id, { kind: 'VIEW', view: made })
      }
      await remakeViews(dialect, session, above).catch((error: unknown) => {
        throw senseless(dialect, error, above.map(shownAs), shownAs(place))
      })
    }),
  )
}

export const senseless = (dialect: Dialect, error: unknown, above: readonly string[], place: string): unknown =>
  viewsDepend(
    dialect,
    error,
    place,
    (reason) =>
      `${above.join(', ')} would make no sense over the new ${place}: ${reason} Change or drop them and try again. Nothing has changed.`,
  )

/** As `putInPlace`, where views and tables are no part of a transaction: it is decided, and carried out. */
export async function placeSettled(dialect: Dialect, { place, instead, made }: Placing): Promise<void> {
  const tried = await demandSenseAbove(dialect, place, made)
  const isHere = (other: Place) => keyOf(other) === keyOf(place)
  const table = 'mark' in made ? made : undefined
  const mark: Mark = 'mark' in made ? made.mark : { kind: 'VIEW', view: made }
  const before = instead.find(isHere)
  // A view is changed where it is, a table put aside; what is of the other kind, or elsewhere, goes.
  const stays = before?.kind === (table ? 'TABLE' : 'VIEW') ? before : undefined
  await inTurn(dialect, async (hands) => {
    const above = viewsAbove(await keptViews(dialect, hands.tables), [place])
    const there = await findRelation(dialect, hands.tables, place)
    if (there?.id !== before?.id || untried(above, tried)) throw changedMeanwhile(shownAs(place))
    const dropped = (relation: Placing['instead'][number]): Step[] => {
      const { schema, name, id, kind } = relation
      return relation === stays ? [] : [{ kind: 'DROP', place: { schema, name }, id, view: kind === 'VIEW' }]
    }
    const steps = instead.filter(isHere).flatMap(dropped)
    if (table) {
      const aside = stays && { aside: hiddenName('aside', stays.id, randomUUID()) }
      steps.push({ kind: 'SWAP', schema: place.schema, from: table.name, to: place.name, ...aside })
    } else if (!('mark' in made)) steps.push({ kind: 'VIEW', place, query: made.query })
    if (table) await setMark(dialect, hands.ledger, table.id, mark)
    const marks = [{ place, ...(table && { id: table.id }), mark }]
    for (const { schema, name, id, mark: kept } of above) {
      steps.push({ kind: 'VIEW', place: { schema, name }, query: kept.view.query, kept: true })
      marks.push({ place: { schema, name }, id, mark: kept })
    }
    steps.push(...instead.filter((relation) => !isHere(relation)).flatMap(dropped))
    await decide(dialect, hands, { steps, marks, forgotten: instead.map(({ id }) => id) })
  })
  await dropAside(dialect, await settle(dialect))
  const now = await asked(dialect, { role: 'service' }, (session) => readShape(dialect, session, place))
  if (now?.mark?.view?.id !== mark.view?.id) throw changedMeanwhile(shownAs(place))
}

/** Those above are tried over the new one, under a hidden name. Throws VIEWS_DEPEND, with nothing changed. */
async function demandSenseAbove(dialect: Dialect, place: Place, made: Placing['made']): Promise<ReadonlySet<string>> {
  const views = await asked(dialect, { role: 'service' }, (session) => keptViews(dialect, session))
  const above = viewsAbove(views, [place])
  const trial = { schema: place.schema, name: hiddenName('view', randomUUID()) }
  if (above.length === 0) return new Set()
  try {
    if ('mark' in made) return await demandSense(dialect, above, new Map([[keyOf(place), made]]))
    return await asked(dialect, { role: 'service' }, async (session) => {
      try {
        for (const statement of dialect.changes.createView(trial, made.query)) await session.execute(statement)
        return await demandSense(dialect, above, new Map([[keyOf(place), trial]]))
      } finally {
        await session.execute(dialect.changes.dropView(trial)).catch(() => {})
      }
    })
  } catch (error) {
    throw senseless(dialect, error, above.map(shownAs), shownAs(place))
  }
}
