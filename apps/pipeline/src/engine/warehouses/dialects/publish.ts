import { setTimeout as sleep } from 'node:timers/promises'
import { failpoint } from '../../failpoints.ts'
import { demandReady } from '../ready-to-publish.ts'
import type { Place } from '../views.ts'
import type { Publication, PublishedTable, PublishOptions } from '../warehouse.ts'
import { dropViews, keptViews, remakeViews, viewsAbove } from './dependent-views.ts'
import type { Dialect, Session } from './dialect.ts'
import { afterwards, passFence } from './fence.ts'
import { dropMark, enterRun, lockLedger, publishedBy, setMark } from './ledger.ts'
import type { DialectLoad } from './load.ts'
import { becoming, type Planned, plan, unmakeable, waiting } from './planned.ts'
import { inUse, isBusy, problemOf } from './problems.ts'
import { settleAll } from './publish-settled.ts'
import { behindOthers, settleFirst } from './settle.ts'
import { asideName, asked } from './shapes.ts'
import { keyTwice } from './key-twice.ts'
import { recordsOf } from '../whole-records.ts'

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
