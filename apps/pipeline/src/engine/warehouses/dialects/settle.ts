import { randomUUID } from 'node:crypto'
import type { Place } from '../views.ts'
import { type Decision, finish, type Hands, unlessLate } from './carry-out.ts'
import type { Dialect, Session } from './dialect.ts'
import { countIn, enter, lockLedger } from './ledger.ts'
import { isBusy, problemOf } from './problems.ts'
import { asked } from './shapes.ts'

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
