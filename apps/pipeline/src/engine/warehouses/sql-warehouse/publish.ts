import { setTimeout as sleep } from 'node:timers/promises'
import { failpoint } from '../../failpoints.ts'
import { demandReady } from '../ready-to-publish.ts'
import type { Place } from '../views.ts'
import type { Publication, PublishOptions, PublishedTable } from '../warehouse.ts'
import { type KeptView, dropViews, keptViews, remakeViews, viewsAbove } from './dependent-views.ts'
import type { Dialect, Session } from './sql-dialect.ts'
import { dropMark, enterRun, lockLedger, publishedBy, setMark } from './ledger.ts'
import type { DialectLoad } from './sql-loader.ts'
import { type Planned, becoming, plan, tableToBe, unmakeable, viewsFollow, waiting } from './plan-publication.ts'
import { changedMeanwhile, inUse, isBusy, problemOf } from './problems.ts'
import { behindOthers, decide, dropAside, inTurn, settle, settleFirst } from './recovery.ts'
import { asideName, asked, hiddenName, keyOf } from './table-shape.ts'
import { recordsOf } from '../whole-records.ts'
import { LostRun } from '../../lost-run.ts'
import { demandSense, untried } from './dependent-views.ts'
import type { Decision, Hands } from './recovery.ts'

/** Milliseconds before another try, where somebody reads the table or publishes just now. */
const patience = [100, 250, 500, 1_000, 2_000]

/**
 * See `Warehouse.publish`. Everything that takes long is done before the ledger is locked; then the fence is asked, and each table takes
 * its place under its name.
 */
export async function publish(
  dialect: Dialect,
  given: readonly DialectLoad[],
  stillOurs: () => Promise<boolean>,
  signal: AbortSignal,
  options: PublishOptions,
): Promise<Publication> {
  const loads = given.toSorted((one, other) => (one.place < other.place ? -1 : 1))
  const [first] = loads
  if (!first) throw new Error('Nothing to publish.')
  const { run } = first.target
  const merging = options.mode === 'MERGE'
  try {
    const earlier = async () =>
      asked(dialect, { role: 'service', signal }, async (session) => {
        await settleFirst(dialect, session)
        return publishedBy(dialect, session, run)
      })
    const published = await earlier()
    if (published) return published
    await demandReady(
      loads,
      { merging, gate: options.gate, keyTwice: (load) => keyTwice(dialect, load, signal) },
      signal,
    )
    await failpoint('before-swap')
    const planned: Planned[] = []
    for (let tries = 0; ; tries += 1) {
      signal.throwIfAborted()
      try {
        const already = tries > 0 ? await earlier() : undefined
        if (already) return already
        // What was decided in another try is still to be carried out, and must not be made anew.
        if (first.decided) throw inUse(first.place)
        for (const [index, load] of loads.entries())
          planned[index] = await plan(
            dialect,
            load,
            { merging, records: recordsOf(loads, load.target) },
            signal,
            planned[index],
          )
        const take = dialect.publication === 'SETTLED' ? settleAll : swapAll
        return await take(dialect, planned, stillOurs, signal, options)
      } catch (error) {
        const problem = problemOf(dialect, error, first.place)
        if (!isBusy(problem) || tries >= patience.length) throw problem
      }
      await sleep(patience[tries]! * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {})
    }
  } catch (error) {
    signal.throwIfAborted()
    throw problemOf(dialect, error, first.place)
  }
}

/** See `Warehouse.closeRun`: whoever has passed the fence has the ledger locked until they are through. */
export function closeRun(dialect: Dialect, run: string): Promise<Publication | undefined> {
  return behindOthers(dialect, ({ ledger }) => publishedBy(dialect, ledger, run))
}

/** In one transaction. */
async function swapAll(
  dialect: Dialect,
  planned: readonly Planned[],
  stillOurs: () => Promise<boolean>,
  signal: AbortSignal,
  options: PublishOptions,
): Promise<Publication> {
  const { run, attempt } = planned[0]!.load.target
  const session = await dialect.open({ role: 'service' })
  let old: Place[] = []
  let ours = false
  try {
    const publication = await session.transaction(async () => {
      old = []
      await lockLedger(dialect, session)
      const earlier = await publishedBy(dialect, session, run)
      if (earlier) return earlier
      await passFence({ run, attempt }, stillOurs, signal)
      const places = planned.map(({ load: { target } }) => ({ schema: target.schema, name: target.table }))
      // Away from all tables at once: over some new and some old ones a view may make no sense.
      const above = viewsAbove(await keptViews(dialect, session), places)
      await dropViews(dialect, session, above)
      const tables: PublishedTable[] = []
      for (const one of planned) tables.push(await swap(dialect, session, one, options, old))
      await remakeViews(dialect, session, above).catch((error: unknown) => {
        throw unmakeable(dialect, error, above, planned.map(({ load }) => load.place).join(', '))
      })
      await enterRun(dialect, session, run, { attempt, tables })
      ours = true
      return (await publishedBy(dialect, session, run))!
    })
    // What was merged into another table is left in the waiting one, to be dropped.
    for (const { load, merged } of planned) load.published = ours && merged === undefined
    await afterwards(() => tidy(dialect, session, old), options)
    return publication
  } catch (error) {
    await session[Symbol.asyncDispose]()
    throw error
  }
}

/** One table takes its place. Throws WAREHOUSE_BUSY where another run changed it since it was planned. */
async function swap(
  dialect: Dialect,
  session: Session,
  planned: Planned,
  options: PublishOptions,
  old: Place[],
): Promise<PublishedTable> {
  const { load } = planned
  const { schema, table, run } = load.target
  const place = { schema, name: table }
  const { live, mark, published } = await becoming(dialect, { ledger: session, tables: session }, planned, options)
  if (live) {
    const aside = { schema, name: asideName(live.id, run) }
    await session.execute(dialect.changes.rename(place, aside.name))
    await dropMark(dialect, session, live.id)
    old.push(aside)
  }
  const from = waiting(planned)
  await session.execute(dialect.changes.rename(from, table))
  for (const statement of dialect.changes.grant(place, 'READ')) await session.execute(statement)
  await setMark(dialect, session, from.id, mark)
  return published
}

/** Old rows that stay are swept; their readers may hold them for a while. */
async function tidy(dialect: Dialect, session: Session, old: readonly Place[]): Promise<void> {
  try {
    for (const place of old) await session.execute(dialect.changes.dropTable(place))
  } catch {
  } finally {
    await session[Symbol.asyncDispose]()
  }
}

/** The key of some two rows that have the same one; undefined where there are none. */
async function keyTwice(dialect: Dialect, load: DialectLoad, signal: AbortSignal): Promise<string | undefined> {
  const keys = load.keys.map((name) => dialect.names.quoted(name)).join(', ')
  const text = `select ${keys} from ${load.stagingTable} group by ${keys} having count(*) > 1`
  return asked(dialect, { role: 'read', signal }, async (session) => {
    for await (const { rows } of session.read(text, [], { rows: 1, bytes: () => 1 })) {
      const [twice] = rows
      return twice?.map((cell) => (typeof cell === 'object' ? JSON.stringify(cell) : String(cell))).join(', ')
    }
    return undefined
  })
}

/** The last look before readers see other rows. Throws `LostRun` unless the run is still in this attempt's hands, or the signal's reason. */
export async function passFence(
  { run, attempt }: { run: string; attempt: number },
  stillOurs: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  if (!(await stillOurs())) throw new LostRun(`Run ${run} is no longer in the hands of attempt ${attempt}.`)
  await failpoint('in-publication')
  signal.throwIfAborted()
}

/** Readers see the new rows. What is left to tidy is not waited for where somebody takes that over. */
export async function afterwards(tidy: () => Promise<void>, { behind }: PublishOptions): Promise<void> {
  await failpoint('published')
  const tidied = tidy()
  if (behind) behind(tidied)
  else await tidied
}

/**
 * As `swapAll`, where tables are no part of a transaction. The ledger is locked, the fence asked, and what is to become of each table written
 * down: from then on the run is published, whoever carries it out. Each table is the old one or the new one, or for a moment nowhere.
 */
async function settleAll(
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
