import { randomUUID } from 'node:crypto'
import type { Place } from '../views.ts'
import { keptViews, viewsAbove } from './dependent-views.ts'
import type { Dialect } from './dialect.ts'
import { type Mark, setMark } from './ledger.ts'
import { type Placing, senseless } from './place-view.ts'
import { changedMeanwhile } from './problems.ts'
import { demandSense, untried } from './sense.ts'
import type { Step } from './carry-out.ts'
import { decide, dropAside, inTurn, settle } from './settle.ts'
import { asked, findRelation, hiddenName, keyOf, readShape, shownAs } from './shapes.ts'

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
