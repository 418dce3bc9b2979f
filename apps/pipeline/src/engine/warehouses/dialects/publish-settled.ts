import type { Publication, PublishOptions } from '../warehouse.ts'
import { type KeptView, keptViews, viewsAbove } from './dependent-views.ts'
import type { Dialect } from './dialect.ts'
import { afterwards, passFence } from './fence.ts'
import { publishedBy, setMark } from './ledger.ts'
import { becoming, type Planned, tableToBe, unmakeable, viewsFollow, waiting } from './planned.ts'
import { changedMeanwhile } from './problems.ts'
import { demandSense, untried } from './sense.ts'
import type { Decision, Hands } from './carry-out.ts'
import { decide, dropAside, inTurn, settle } from './settle.ts'
import { asked, hiddenName, keyOf } from './shapes.ts'

/**
 * As `swapAll`, where tables are no part of a transaction. The ledger is locked, the fence asked, and what is to become of each table written
 * down: from then on the run is published, whoever carries it out. Each table is the old one or the new one, or for a moment nowhere.
 */
export async function settleAll(
  dialect: Dialect,
  planned: readonly Planned[],
  stillOurs: () => Promise<boolean>,
  signal: AbortSignal,
  options: PublishOptions,
): Promise<Publication> {
  const { run, attempt } = planned[0]!.load.target
  const tried = await demandSenseOf(dialect, planned)
  const earlier = await inTurn(dialect, async (hands) => {
    const published = await publishedBy(dialect, hands.ledger, run)
    if (published) return published
    await passFence({ run, attempt }, stillOurs, signal)
    const decision = await decisionOn(dialect, hands, planned, tried, options)
    // Whether it counts we may never hear. What was merged into another table is left in the waiting one, to be dropped.
    for (const { load, merged } of planned) {
      load.decided = true
      load.published = merged === undefined
    }
    await decide(dialect, hands, decision)
    return undefined
  })
  if (earlier) return earlier
  const aside = await settle(dialect)
  await afterwards(() => dropAside(dialect, aside), options)
  const published = await asked(dialect, { role: 'service' }, (session) => publishedBy(dialect, session, run))
  if (!published) throw changedMeanwhile(planned[0]!.load.place)
  return published
}

/** Tables whose columns change, with the views above all of them. */
function changing(dialect: Dialect, planned: readonly Planned[], views: readonly KeptView[]) {
  const those = planned.filter(({ live, load }) => live && tableToBe(dialect, live, load).changes.some(viewsFollow))
  const places = those.map(({ load: { target } }) => ({ schema: target.schema, name: target.table }))
  return { those, above: viewsAbove(views, places) }
}

/** Whether the views above make sense over the new columns, before anything is decided. */
async function demandSenseOf(dialect: Dialect, planned: readonly Planned[]): Promise<ReadonlySet<string>> {
  const views = await asked(dialect, { role: 'service' }, (session) => keptViews(dialect, session))
  const { those, above } = changing(dialect, planned, views)
  const stands = those.map((one) => {
    const { schema, table } = one.load.target
    return [keyOf({ schema, name: table }), waiting(one)] as const
  })
  return demandSense(dialect, above, new Map(stands)).catch((error: unknown) => {
    throw unmakeable(dialect, error, above, those.map(({ load }) => load.place).join(', '))
  })
}

async function decisionOn(
  dialect: Dialect,
  hands: Hands,
  planned: readonly Planned[],
  tried: ReadonlySet<string>,
  options: PublishOptions,
): Promise<Decision> {
  const { run, attempt } = planned[0]!.load.target
  const tables = []
  const decision: Decision = { steps: [], marks: [], forgotten: [] }
  for (const one of planned) {
    const { schema, table } = one.load.target
    const { live, mark, published } = await becoming(dialect, hands, one, options)
    const { name, id } = waiting(one)
    const aside = live && { aside: hiddenName('aside', live.id, run) }
    decision.steps.push({ kind: 'SWAP', schema, from: name, to: table, ...aside })
    await setMark(dialect, hands.ledger, id, mark)
    decision.marks.push({ place: { schema, name: table }, id, mark })
    if (live) decision.forgotten.push(live.id)
    tables.push(published)
  }
  const { above } = changing(dialect, planned, await keptViews(dialect, hands.tables))
  if (untried(above, tried)) throw changedMeanwhile(planned[0]!.load.place)
  for (const { schema, name, id, mark } of above) {
    decision.steps.push({ kind: 'VIEW', place: { schema, name }, query: mark.view.query, kept: true })
    decision.marks.push({ place: { schema, name }, id, mark })
  }
  return { ...decision, run: { run, attempt, tables } }
}
