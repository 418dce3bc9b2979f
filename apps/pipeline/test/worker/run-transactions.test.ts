import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../src/database.ts'
import { cancelRun } from '../../src/run-lifecycle/cancel-run.ts'
import { type Claim, claimRun } from '../../src/runs/claim-run.ts'
import { finishRun } from '../../src/run-lifecycle/finish-run.ts'
import { runTransaction } from '../../src/runs/run-transaction.ts'
import { startStack, type Stack } from './worker-stack.ts'
import { until } from '@sluice/testing/wait-until'
import { begin, finish, jobStates, makeWorkflow, underWay } from './workflow-fixtures.ts'

let stack: Stack
let client: string
beforeAll(async () => {
  stack = await startStack()
  client = (await stack.pipeline()).client
})
afterAll(() => stack?.[Symbol.asyncDispose]())

const twoPipelines = async (): Promise<[number, number]> => [
  (await stack.pipeline(client)).id,
  (await stack.pipeline(client)).id,
]
const claimed = async (pipeline: number): Promise<Claim> =>
  (await claimRun(stack.db, (await underWay(stack, pipeline))!.uid))!
const end = (claim: Claim) =>
  finishRun(stack, claim, { state: 'OK', message: 'Done.', rowsWritten: 1, bytesWritten: 1, rowsRejected: 0 })

const finishAll = async (...pipelines: number[]) => {
  for (const pipeline of pipelines) if (await underWay(stack, pipeline)) await finish(stack, pipeline)
}

/** How many of this database wait for a lock. */
const waiting = async () =>
  (
    await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      stack.db,
    )
  ).rows.length

/** Deadlocks of this database that the server has dissolved. */
async function deadlocks(): Promise<number> {
  const { rows } = await sql<{ deadlocks: number }>`
    select deadlocks from pg_stat_database where datname = current_database()`.execute(stack.db)
  return rows[0]!.deadlocks
}

/**
 * Locks the rows of these runs until both transactions wait for them with the locks that they already hold. Then
 * releases the rows.
 */
async function meeting<T>(runs: readonly { id: number }[], ...work: (() => Promise<T>)[]): Promise<T[]> {
  const ids = runs.map(({ id }) => id)
  const begun = await stack.db.transaction().execute(async (trx) => {
    await trx.selectFrom('runs').select('id').where('id', 'in', ids).forUpdate().execute()
    const all = work.map((one) => one())
    for (const one of all) one.catch(() => {})
    await until(async () => (await waiting()) === work.length)
    return { all }
  })
  return Promise.all(begun.all)
}

describe('runTransaction', () => {
  it('restarts one of two deadlocked transactions, and both commit', async () => {
    const [one, other] = await twoPipelines()
    const tries = { first: 0, second: 0 }
    const both = Promise.withResolvers<void>()
    let ready = 0
    const take = async (name: keyof typeof tries, trx: Transaction<DB>, ids: readonly number[]) => {
      tries[name] += 1
      for (const [index, id] of ids.entries()) {
        if (index > 0 && tries[name] === 1) {
          ready += 1
          if (ready === 2) both.resolve()
          await both.promise
        }
        await sql`update runnables set name = name || ${name} where id = ${id}`.execute(trx)
      }
      return name
    }
    const before = await deadlocks()
    expect(
      await Promise.all([
        runTransaction(stack.db, (trx) => take('first', trx, [one, other])),
        runTransaction(stack.db, (trx) => take('second', trx, [other, one])),
      ]),
    ).toEqual(['first', 'second'])
    expect(tries.first + tries.second).toBe(3)
    await until(async () => (await deadlocks()) > before)
    const { rows } = await sql<{ name: string }>`select name from runnables where id in (${one}, ${other})`.execute(
      stack.db,
    )
    expect(rows.map(({ name }) => /^p\w{8}(firstsecond|secondfirst)$/.test(name))).toEqual([true, true])
  })

  it('does not retry a transaction that fails for another reason', async () => {
    let tries = 0
    const failing = runTransaction(stack.db, async (trx) => {
      tries += 1
      await sql`select 1 / 0`.execute(trx)
    })
    await expect(failing).rejects.toMatchObject({ code: '22012' })
    expect(tries).toBe(1)
  })

  it('sets an idle timeout that is shorter than the lock timeout', async () => {
    const { rows } = await runTransaction(stack.db, (trx) =>
      sql<{ shorter: boolean }>`
        select current_setting('idle_in_transaction_session_timeout')::interval < current_setting('lock_timeout')::interval
          and current_setting('idle_in_transaction_session_timeout') <> '0' as shorter`.execute(trx),
    )
    expect(rows).toEqual([{ shorter: true }])
  })
})

describe('two workflows with the same jobs in opposite order', () => {
  it('both continue after a deadlock when their first jobs end at the same time', async () => {
    const [one, other] = await twoPipelines()
    const there = await makeWorkflow(stack, client, [{ jobs: [one] }, { jobs: [other] }])
    const back = await makeWorkflow(stack, client, [{ jobs: [other] }, { jobs: [one] }])
    const runs = [await begin(stack, there), await begin(stack, back)]
    const [first, second] = [await claimed(one), await claimed(other)]
    const before = await deadlocks()
    expect(
      await meeting(
        runs,
        () => end(first),
        () => end(second),
      ),
    ).toEqual([true, true])
    await until(async () => (await deadlocks()) > before)
    // The first request joins the other's run, which has ended by now; the other request starts a new run.
    expect((await Promise.all(runs.map((run) => jobStates(stack, run)))).flat(2).toSorted()).toEqual([
      'OK',
      'OK',
      'OK',
      'RUNNING',
    ])
    await finishAll(one, other)
    for (const run of runs) expect(await stack.state(run)).toMatchObject({ state: 'OK' })
  })

  it('both continue after a deadlock when a third workflow is cancelled while a job ends', async () => {
    const [one, other] = await twoPipelines()
    const cancelled = await makeWorkflow(stack, client, [{ jobs: [one] }])
    const waits = await makeWorkflow(stack, client, [{ jobs: [one] }, { jobs: [other] }], 'CONTINUE')
    const back = await makeWorkflow(stack, client, [{ jobs: [other] }, { jobs: [one] }])
    const runs = [await begin(stack, cancelled), await begin(stack, waits), await begin(stack, back)]
    const claim = await claimed(other)
    const before = await deadlocks()
    const [run, ended] = await meeting<unknown>(
      runs.slice(1),
      () => runTransaction(stack.db, (trx) => cancelRun(trx, stack.queue, cancelled.id)),
      () => end(claim),
    )
    expect([run, ended]).toEqual([expect.objectContaining({ id: runs[0]!.id, state: 'CANCELLED' }), true])
    await until(async () => (await deadlocks()) > before)
    await finishAll(one, other)
    const [first, second, third] = await Promise.all(runs.map(stack.state))
    expect([first!.state, second!.state]).toEqual(['CANCELLED', 'FAILED'])
    // Its last job waited for the run that was cancelled, or began one of its own.
    expect(['OK', 'FAILED']).toContain(third!.state)
    expect((await Promise.all(runs.map((each) => jobStates(stack, each)))).flat(2)).not.toContain('RUNNING')
  })
})
