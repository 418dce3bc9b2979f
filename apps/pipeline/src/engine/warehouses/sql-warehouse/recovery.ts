import { randomUUID } from 'node:crypto'
import type { Place } from '../views.ts'
import type { Dialect, Session } from './sql-dialect.ts'
import {
  type Mark,
  countIn,
  dropMark,
  enter,
  enterRun,
  entriesIn,
  forget,
  lockLedger,
  publishedBy,
  setMark,
} from './ledger.ts'
import { inUse, isBusy, problemOf } from './problems.ts'
import { asked, findRelation, shownAs } from './table-shape.ts'
import { type PublishedTable, WarehouseProblem } from '../warehouse.ts'
import { type Sql, plain } from './sql.ts'

/** Seconds that a change waits for whoever reads the table, or for whose turn it is. */
const patience = 30
const lookersPatience = 5

/**
 * Alone among all who change what is published. Where such changes are settled, what another left is finished first; where they are
 * transactions, those keep each other apart by themselves.
 */
export async function inTurn<Result>(dialect: Dialect, work: (hands: Hands) => Promise<Result>): Promise<Result> {
  if (dialect.publication === 'TRANSACTION')
    return asked(dialect, { role: 'service' }, (session) => work({ ledger: session, tables: session }))
  return handed(dialect, patience, async (hands) => {
    for (;;) {
      const done = await holding(dialect, hands, async () =>
        (await finish(dialect, hands)) ? undefined : { result: await work(hands) },
      )
      if (done) return done.result
    }
  })
}

/** For whoever wants to know what is published, for good: behind everybody who is publishing, in either way. */
export const behindOthers = <Result>(dialect: Dialect, work: (hands: Hands) => Promise<Result>): Promise<Result> =>
  dialect.publication === 'SETTLED'
    ? inTurn(dialect, work)
    : handed(dialect, patience, (hands) => holding(dialect, hands, () => work(hands)))

async function handed<Result>(
  dialect: Dialect,
  seconds: number,
  work: (hands: Hands) => Promise<Result>,
): Promise<Result> {
  await using ledger = await dialect.open({ role: 'service', seconds })
  await using tables = await dialect.open({ role: 'service', seconds })
  return await work({ ledger, tables })
}

async function holding<Result>(dialect: Dialect, { ledger }: Hands, work: () => Promise<Result>): Promise<Result> {
  return ledger.transaction(async () => {
    await unlessLate(dialect, 'The warehouse', () => lockLedger(dialect, ledger))
    return work()
  })
}

/** The row that decides. It counts when the turn ends. */
export async function decide(dialect: Dialect, { ledger }: Hands, decision: Decision): Promise<void> {
  await enter(dialect, ledger, 'decisions', randomUUID(), decision)
}

/** Does what was decided, by us or by somebody who died. Answers which old tables it has put aside. */
export async function settle(dialect: Dialect, seconds = patience): Promise<Place[]> {
  return handed(dialect, seconds, async (hands) => (await holding(dialect, hands, () => finish(dialect, hands))) ?? [])
}

/** Changes of tables and views in one transaction, where there is such a thing. */
export const together = (dialect: Dialect, session: Session, work: () => Promise<void>): Promise<void> =>
  dialect.publication === 'TRANSACTION' ? session.transaction(work) : work()

/** For whoever is about to look at tables. What somebody else is at and cannot end yet, since the table is read, is not waited for. */
export async function settleFirst(dialect: Dialect, session: Session): Promise<void> {
  if (dialect.publication !== 'SETTLED' || (await countIn(dialect, session, 'decisions')) === 0) return
  await settle(dialect, lookersPatience).catch((error: unknown) => {
    if (!isBusy(problemOf(dialect, error, 'The warehouse'))) throw error
  })
}

/** Between two names a table is nowhere, for a moment: who misses it then looks once more when that is over. */
export async function patiently<Result>(dialect: Dialect, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (dialect.publication !== 'SETTLED' || dialect.explain(error)?.code !== 'TABLE_MISSING') throw error
    await asked(dialect, { role: 'service' }, (session) => settleFirst(dialect, session))
    return work()
  }
}

/**
 * What we have put aside ourselves goes. What another had decided stays until it is swept: their last statement may still be on its way, and
 * finds the name taken then.
 */
export async function dropAside(dialect: Dialect, aside: readonly Place[]): Promise<void> {
  if (aside.length === 0) return
  await asked(dialect, { role: 'service' }, async (session) => {
    for (const place of aside) await session.execute(dialect.changes.dropTable(place))
  }).catch(() => {})
}

/**
 * What is to be done to tables and views where no transaction holds that together. Once its row is in the ledger it is done, by whoever
 * is there to do it: a step that finds itself done already changes nothing.
 */
export interface Decision {
  steps: Step[]
  /** What is known from then on of what stands at these places; under `id`, where it has that already, it is said with the decision. */
  marks: { place: Place; id?: string; mark: Mark }[]
  /** Ids of what is known no more. */
  forgotten: string[]
  run?: { run: string; attempt: number; tables: PublishedTable[] }
}

export type Step =
  /** A table from a hidden name to another one of its schema; what stands there goes aside, if that is expected. */
  | { kind: 'SWAP'; schema: string; from: string; to: string; aside?: string }
  | { kind: 'DROP'; place: Place; id: string; view: boolean }
  /** Made, or changed to this text. `kept`: one that has lost its sense stays as it is. */
  | { kind: 'VIEW'; place: Place; query: string; kept?: true }

/** Of whoever has their turn. */
export interface Hands {
  /** Within the transaction that holds the turn: for rows of the ledger. */
  ledger: Session
  /** Beside it: for tables and views, and whatever is asked about them. */
  tables: Session
}

/** Undefined where nothing was decided. */
async function finish(dialect: Dialect, hands: Hands): Promise<Place[] | undefined> {
  const { ledger, tables } = hands
  const decisions = (await entriesIn(dialect, ledger, 'decisions')) as Map<string, Decision>
  if (decisions.size === 0) return undefined
  const aside: Place[] = []
  for (const [id, { steps, marks, forgotten, run }] of decisions) {
    const taken = await takeAll(dialect, hands, steps)
    await forget(dialect, ledger, 'decisions', id)
    if (!taken) continue
    aside.push(...taken)
    for (const gone of forgotten) await dropMark(dialect, ledger, gone)
    for (const known of marks) {
      const relation = await findRelation(dialect, tables, known.place)
      if (relation && relation.id !== known.id) await setMark(dialect, ledger, relation.id, known.mark)
    }
    if (run && !(await publishedBy(dialect, ledger, run.run))) await enterRun(dialect, ledger, run.run, run)
  }
  return aside
}

/**
 * Undefined where a step cannot be taken any more: what it needs was dropped, or its place taken, by hand. Then nothing is said of any, and
 * the run can be published again.
 */
async function takeAll(dialect: Dialect, hands: Hands, steps: readonly Step[]): Promise<Place[] | undefined> {
  const aside: Place[] = []
  for (const step of steps) {
    const taken = await take(dialect, hands, step)
    if (!taken) return undefined
    aside.push(...taken)
  }
  return aside
}

/** Answers what it has put aside; undefined as above. */
async function take(dialect: Dialect, { ledger, tables }: Hands, step: Step): Promise<Place[] | undefined> {
  const { changes } = dialect
  const place = step.kind === 'SWAP' ? { schema: step.schema, name: step.to } : step.place
  const there = new Map(
    (await dialect.catalogue.relations(tables, [place.schema])).map((relation) => [relation.name, relation]),
  )
  const standing = there.get(place.name)
  const act = (statements: readonly Sql[]) =>
    unlessLate(dialect, shownAs(place), async () => {
      // Whoever has lost their turn meanwhile changes nothing any more.
      await ledger.rows(plain('select 1 as held'))
      for (const statement of statements) await tables.execute(statement)
    })
  if (step.kind === 'DROP') {
    if (standing?.id === step.id) await act([step.view ? changes.dropView(place) : changes.dropTable(place)])
    return []
  }
  if (step.kind === 'VIEW') {
    const without = step.kept ? [] : undefined
    if (standing?.kind === 'TABLE') return without
    try {
      // A text that was decided on by a version which allowed more is refused here, and holds nothing else up.
      await act(standing ? changes.changeView!(place, step.query) : changes.createView(place, step.query))
      return []
    } catch (error) {
      const problem = problemOf(dialect, error, shownAs(place))
      if (!(problem instanceof WarehouseProblem) || problem.retryable) throw error
      return without
    }
  }
  const from = { schema: step.schema, name: step.from }
  if (!there.has(step.from)) {
    const isDone = standing !== undefined && (step.aside === undefined || there.has(step.aside))
    return isDone ? [] : undefined
  }
  await act(changes.grant(from, 'READ'))
  if (standing) {
    if (step.aside === undefined) return undefined
    if (there.has(step.aside)) throw inTheWay(place)
    await act([changes.rename(place, step.aside)])
  }
  await act([changes.rename(from, step.to)])
  return standing ? [{ schema: step.schema, name: step.aside! }] : []
}

/** Such a server may have no end of its own to waiting for a lock. */
async function unlessLate(dialect: Dialect, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw dialect.explain(error)?.code === 'QUERY_TIMEOUT' ? inUse(what, error) : error
  }
}

const inTheWay = (place: Place) =>
  new WarehouseProblem(
    'TABLE_NOT_OURS',
    `Somebody put another ${shownAs(place)} there while it was being published. Move that away: until then nothing can be published.`,
  )
