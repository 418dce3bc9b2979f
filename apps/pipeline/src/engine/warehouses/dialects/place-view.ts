import { randomUUID } from 'node:crypto'
import { uniqueNames } from '../unique-names.ts'
import type { Place } from '../views.ts'
import { dropViews, keptViews, remakeViews, viewsAbove } from './dependent-views.ts'
import type { Dialect } from './dialect.ts'
import { dropMark, lockLedger, type Mark, setMark, type ViewMark } from './ledger.ts'
import { countRows, makeFilled } from './merge.ts'
import { columnsOf } from './pages.ts'
import type { Hands } from './carry-out.ts'
import { patiently, together } from './settle.ts'
import { asked, findRelation, hiddenName, type Shape, shownAs } from './shapes.ts'
import { viewsDepend } from './views-depend.ts'

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
