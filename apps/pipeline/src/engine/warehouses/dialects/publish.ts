import { setTimeout as sleep } from 'node:timers/promises'
import { failpoint } from '../../failpoints.ts'
import { LostRun } from '../../lost-run.ts'
import type { Place } from '../views.ts'
import {
  type Publication,
  type PublishedTable,
  type PublishOptions,
  type ReadyTable,
  type TableChange,
  WarehouseProblem,
} from '../warehouse.ts'
import { type KeptView, dropViews, keptViews, remakeViews, viewsAbove } from './dependent-views.ts'
import type { Dialect, Session } from './dialect.ts'
import { dropMark, enterRun, type Mark, marksIn, publishedBy, setMark } from './ledger.ts'
import { demandOurs, type DialectLoad } from './load.ts'
import { broughtBy, countRows, demandKeys, type Merged, mergeAside } from './merge.ts'
import { changedMeanwhile, isBusy, problemOf } from './problems.ts'
import { asideName, asked, readShape, type Shape } from './shapes.ts'
import { demandUnique } from './unique.ts'

/** Milliseconds before another try, where somebody reads the table or publishes just now. */
const patience = [100, 250, 500, 1_000, 2_000]

/** What one load becomes, as it was planned over the table that was there. */
interface Planned {
  load: DialectLoad
  live: Shape | undefined
  merged: Merged | undefined
  rows: number
}

/**
 * See `Warehouse.publish`. Everything that takes long is done before the transaction; in it the ledger is locked, the fence asked, and
 * each table takes its place under its name.
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
    const earlier = await asked(dialect, { role: 'service', signal }, (session) => publishedBy(dialect, session, run))
    if (earlier) return earlier
    for (const load of loads) {
      if (merging) demandKeys(load)
      await demandUnique(dialect, load, signal)
    }
    await options.gate?.(
      loads.map((load) => readyTable(load, merging)),
      signal,
    )
    await failpoint('before-swap')
    const planned: Planned[] = []
    for (let tries = 0; ; tries += 1) {
      signal.throwIfAborted()
      try {
        for (const [index, load] of loads.entries())
          planned[index] = await plan(dialect, load, merging, signal, planned[index])
        return await swapAll(dialect, planned, stillOurs, signal, options)
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

function readyTable(load: DialectLoad, merging: boolean): ReadyTable {
  const { schema, table } = load.target
  const ready = { schema, table, staging: load.stagingTable }
  if (!merging) return ready
  return { ...ready, merge: { keys: load.keys, ...(!load.transformed && { columns: broughtBy(load) }) } }
}

/** What was planned before over the table that is still there is not done again: merging writes all of it. */
async function plan(
  dialect: Dialect,
  load: DialectLoad,
  merging: boolean,
  signal: AbortSignal,
  before: Planned | undefined,
): Promise<Planned> {
  const { schema, table } = load.target
  const live = await asked(dialect, { role: 'service', signal }, (session) =>
    readShape(dialect, session, { schema, name: table }),
  )
  demandOurs(live, load.place)
  if (before && before.live?.id === live?.id) return before
  const merged = merging && live ? await mergeAside(dialect, load, live, signal) : undefined
  const rows = load.transformed
    ? await asked(dialect, { role: 'read', signal }, (session) => countRows(dialect, session, load.staging))
    : (load.written?.rows ?? 0)
  return { load, live, merged, rows }
}

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
      for (const statement of dialect.changes.lockLedger()) await session.execute(statement)
      const earlier = await publishedBy(dialect, session, run)
      if (earlier) return earlier
      if (!(await stillOurs())) throw new LostRun(`Run ${run} is no longer in the hands of attempt ${attempt}.`)
      await failpoint('in-publication')
      signal.throwIfAborted()
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
    await failpoint('published')
    const tidied = tidy(dialect, session, old)
    if (options.behind) options.behind(tidied)
    else await tidied
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
  { load, live: before, merged, rows }: Planned,
  { cursors = {} }: PublishOptions,
  old: Place[],
): Promise<PublishedTable> {
  const { schema, table, run, attempt } = load.target
  const place = { schema, name: table }
  const live = await readShape(dialect, session, place)
  if (live?.id !== before?.id) throw changedMeanwhile(load.place)
  const marks = await marksIn(dialect, session, merged?.id ?? load.id)
  const mark = marks.get(merged?.id ?? load.id)
  if (!mark) throw new LostRun(`The staging table of attempt ${attempt} of run ${run} is gone.`)
  const fed = load.target.columns.map(({ name }) => name)
  const changes = live ? changesOf(dialect, live, load, fed) : []
  if (live) {
    const aside = { schema, name: asideName(live.id, run) }
    await session.execute(dialect.changes.rename(place, aside.name))
    await dropMark(dialect, session, live.id)
    old.push(aside)
  }
  const from = merged ?? load.staging
  await session.execute(dialect.changes.rename({ schema, name: from.name }, table))
  for (const statement of dialect.changes.grant(place, 'READ')) await session.execute(statement)
  const published: Mark = {
    ...mark,
    kind: 'LOADED',
    run,
    fed,
    rows: merged?.rows ?? rows,
    ...(cursors[table] !== undefined && { cursor: cursors[table] }),
    ...(!merged && !load.transformed && load.profile && { profile: load.profile }),
  }
  await setMark(dialect, session, merged?.id ?? load.id, published)
  return { schema, table, rows, bytes: load.written?.bytes ?? 0, changes }
}

/** A view that stood over the old types and does not over the new ones. */
function unmakeable(dialect: Dialect, error: unknown, views: readonly KeptView[], place: string): unknown {
  const problem = problemOf(dialect, error, place)
  if (!(problem instanceof WarehouseProblem) || problem.retryable) return problem
  const names = views.map(({ name }) => name).join(', ')
  return new WarehouseProblem(
    'VIEWS_DEPEND',
    `The views over ${place} (${names}) cannot be made anew with the new columns: ${problem.message} Change or drop them and run again. The old data stays.`,
    { cause: error },
  )
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

function changesOf(dialect: Dialect, live: Shape, load: DialectLoad, fed: readonly string[]): TableChange[] {
  const staged = new Map(load.columns.map((column) => [column.name, column]))
  const there = new Set(live.columns.map(({ name }) => name))
  const changes: TableChange[] = []
  for (const column of live.columns) {
    const incoming = staged.get(column.name)
    if (!incoming || dialect.types.widest(column.type, incoming.type) !== incoming.type)
      throw changedMeanwhile(load.place)
    if (incoming.type !== column.type)
      changes.push({ kind: 'TYPE_WIDENED', column: column.name, from: column.type, to: incoming.type })
    if ((live.mark?.fed ?? []).includes(column.name) && !fed.includes(column.name))
      changes.push({ kind: 'COLUMN_VANISHED', column: column.name })
  }
  for (const { name, type } of load.columns)
    if (!there.has(name)) changes.push({ kind: 'COLUMN_ADDED', column: name, to: type })
  return changes
}
