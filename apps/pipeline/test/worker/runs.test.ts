import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Redaction } from '@sluice/process'
import { sql } from 'kysely'
import { cancelRun } from '../../src/run-lifecycle/cancel-run.ts'
import { type Claim, claimLock, claimRun, requeueRun } from '../../src/runs/claim-run.ts'
import { finishRun, type RunOutcome } from '../../src/run-lifecycle/finish-run.ts'
import { openRunLog } from '../../src/runs/run-log.ts'
import { runTransaction } from '../../src/runs/run-transaction.ts'
import { startHeartbeat } from '../../src/runs/heartbeat.ts'
import { findLastRuns, listLogs, listRejectedRows, listRuns, computeProgress } from '../../src/runs/read-runs.ts'
import { openRejectedRows } from '../../src/runs/rejected-rows.ts'
import { startStack, type Stack } from './worker-stack.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

const ok: RunOutcome = { state: 'OK', message: 'Loaded.', rowsWritten: 2, bytesWritten: 20, rowsRejected: 0 }
const failed: RunOutcome = { state: 'FAILED', code: 'X', message: 'Not loaded.' }
const firstPage = { page: 1, pageSize: 50 }

async function claimed() {
  const pipeline = await stack.pipeline()
  const run = await stack.run(pipeline)
  const claim = (await claimRun(stack.db, run.uid))!
  return { pipeline, run, claim }
}

const giveBack = (claim: Claim, reason: Parameters<typeof requeueRun>[2]) =>
  stack.db.transaction().execute((trx) => requeueRun(trx, claim, reason))
const cancel = (pipeline: { id: number }) =>
  stack.db.transaction().execute((trx) => cancelRun(trx, stack.queue, pipeline.id))

describe('run', () => {
  it('is created once for five concurrent requests', async () => {
    const pipeline = await stack.pipeline()
    const runs = await Promise.all(Array.from({ length: 5 }, () => stack.run(pipeline)))
    expect(new Set(runs.map(({ uid }) => uid)).size).toBe(1)
    expect((await listRuns(stack.db, pipeline.id, firstPage)).total).toBe(1)
  })

  it('allows a new run once it is finished', async () => {
    const { pipeline, run, claim } = await claimed()
    expect(await finishRun(stack, claim, ok)).toBe(true)
    expect((await stack.run(pipeline)).uid).not.toBe(run.uid)
  })

  it('is claimed together with its pipeline and organisation', async () => {
    const { pipeline, claim } = await claimed()
    expect(claim).toMatchObject({ client: pipeline.client, attempt: 1, tries: 1, input: {} })
    expect(claim.subject).toMatchObject({ id: pipeline.id, kind: 'DATA_PIPELINE' })
  })

  it('cannot be claimed if it is finished, cancelled or unknown', async () => {
    const finished = await claimed()
    await finishRun(stack, finished.claim, ok)
    const cancelled = await claimed()
    await cancel(cancelled.pipeline)
    expect(await claimRun(stack.db, finished.run.uid)).toBeUndefined()
    expect(await claimRun(stack.db, cancelled.run.uid)).toBeUndefined()
    expect(await claimRun(stack.db, '00000000-0000-0000-0000-000000000000')).toBeUndefined()
  })

  it('can be finished or requeued only by its newest attempt', async () => {
    const { run, claim: old } = await claimed()
    const claim = (await claimRun(stack.db, run.uid))!
    expect(claim.attempt).toBe(2)
    expect(await finishRun(stack, old, ok)).toBe(false)
    expect(await giveBack(old, { unfinished: true })).toBe(false)
    expect(await stack.state(run)).toMatchObject({ state: 'RUNNING', attempt: 2 })
    expect(await finishRun(stack, claim, failed)).toBe(true)
    expect(await stack.state(run)).toMatchObject({ state: 'FAILED', error_code: 'X', message: 'Not loaded.' })
  })

  it('does not count attempts that were requeued as tries', async () => {
    const { run, claim } = await claimed()
    await giveBack(claim, { code: 'WAREHOUSE_UNAVAILABLE', message: 'Away.', unfinished: true })
    expect(await stack.state(run)).toMatchObject({ handed_back: 1, error_code: 'WAREHOUSE_UNAVAILABLE' })
    for (const tries of [1, 2, 3])
      expect(await claimRun(stack.db, run.uid)).toMatchObject({ tries, attempt: tries + 1 })
  })

  it('waits while its organisation is at its concurrency limit, also for concurrent claims', async () => {
    const client = randomUUID()
    const runs = [await stack.run(await stack.pipeline(client)), await stack.run(await stack.pipeline(client))]
    const other = await stack.run(await stack.pipeline())
    const limits = { maxRuns: 1, mustWait: sql.lit(false) }
    const takeUp = (queued: { uid: string; client: string }) =>
      runTransaction(stack.db, (trx) => claimRun(trx, queued.uid, limits), { lock: claimLock(queued.client) })
    const [one, two, three] = await Promise.all([...runs, other].map(takeUp))
    expect([one, two].filter(Boolean)).toHaveLength(1)
    expect(three).toBeTruthy()
    await finishRun(stack, (one || two)!, ok)
    expect(await takeUp(one ? runs[1]! : runs[0]!)).toBeTruthy()
  })

  it('can be cancelled while it is queued or running, and only once', async () => {
    const pipeline = await stack.pipeline()
    const waiting = await stack.run(pipeline)
    expect(await cancel(pipeline)).toMatchObject({ uid: waiting.uid, state: 'CANCELLED' })
    expect(await cancel(pipeline)).toBeUndefined()
    const running = await claimed()
    expect(await cancel(running.pipeline)).toMatchObject({ uid: running.run.uid, state: 'CANCELLED' })
    expect(await finishRun(stack, running.claim, failed)).toBe(false)
  })

  it('becomes OK if it is finished as OK after it was cancelled', async () => {
    const { pipeline, run, claim } = await claimed()
    await cancel(pipeline)
    expect(await finishRun(stack, claim, ok)).toBe(true)
    expect(await stack.state(run)).toMatchObject({ state: 'OK', rows_written: 2 })
  })
})

describe('heartbeat of an attempt', () => {
  it('stores the progress of the load', async () => {
    const { run, claim } = await claimed()
    const counts = { bytesRead: 50, bytesTotal: 200, rowsRead: 7, rowsRejected: 1 }
    const totals = { ...counts, percentage: 25, rowsPerSecond: 3.5, bytesPerSecond: 25, secondsLeft: 6 }
    using _ = startHeartbeat(stack.db, claim, { totals: () => totals, onLeaseLost: () => {}, intervalMs: 10 })
    const state = await until(async () => {
      const found = await stack.state(run)
      return found.rows_read === 7 && found
    })
    expect(computeProgress(state)).toMatchObject({
      ...counts,
      percentage: 25,
      rowsPerSecond: 4,
      bytesPerSecond: 25,
      estimatedEnd: expect.any(String),
    })
  })

  it('is written after the one before, with the progress at that time', async () => {
    const { run, claim } = await claimed()
    let reads = 0
    const totals = () => void (reads += 1)
    using heartbeat = startHeartbeat(stack.db, claim, { totals, onLeaseLost: () => {}, intervalMs: 60_000 })
    let beats: Promise<boolean>[] = []
    await stack.db.transaction().execute(async (trx) => {
      await trx.selectFrom('runs').select('id').where('id', '=', run.id).forUpdate().execute()
      beats = [heartbeat.beat(), heartbeat.beat()]
      await until(() => reads > 0)
      await sleep(50)
      expect(reads).toBe(1)
    })
    expect([await Promise.all(beats), reads]).toEqual([[true, true], 2])
  })

  it('does not show the tables of an earlier attempt after the attempt has begun to read', async () => {
    const { run, claim } = await claimed()
    const counts = { bytesRead: 0, bytesTotal: null, rowsRead: 7, rowsRejected: 0 }
    const totals = { ...counts, percentage: null, rowsPerSecond: 0, bytesPerSecond: 0, secondsLeft: null }
    const tables = [
      { table: 'a', rowsRead: 6, state: 'READ' as const },
      { table: 'b', rowsRead: 1, state: 'READING' as const },
    ]
    const shownTables = async (attempt: Claim, progress: typeof totals & { tables?: typeof tables }) => {
      using heartbeat = startHeartbeat(stack.db, attempt, { totals: () => progress, onLeaseLost: () => {} })
      await heartbeat.beat()
      return computeProgress(await stack.state(run)).tables
    }
    expect(await shownTables(claim, { ...totals, tables })).toEqual(tables)
    expect(await shownTables((await claimRun(stack.db, run.uid))!, totals)).toBeUndefined()
  })

  it('reports that the run was cancelled or claimed by another attempt', async () => {
    const cancelled = await claimed()
    const taken = await claimed()
    const reasons: string[] = []
    const watch = {
      totals: () => undefined,
      onLeaseLost: (reason: Error) => reasons.push(reason.message),
      intervalMs: 10,
    }
    using _one = startHeartbeat(stack.db, cancelled.claim, watch)
    await cancel(cancelled.pipeline)
    await until(() => reasons.length === 1)
    using two = startHeartbeat(stack.db, taken.claim, watch)
    await claimRun(stack.db, taken.run.uid)
    expect(await two.beat()).toBe(false)
    expect(reasons[0]).toBe('The run was cancelled.')
    expect(reasons[1]).toMatch(/^Attempt 1 lost its lease/)
  })
})

describe('run log', () => {
  it('redacts secrets, truncates long lines, and stops at the line limit', async () => {
    const { pipeline, run, claim } = await claimed()
    const redaction = new Redaction()
    redaction.add('correct-horse')
    const log = await openRunLog(stack.db, claim, redaction, { maxLines: 4 })
    log.write('INFO', 'LOW', 'password=correct-horse')
    log.write('WARN', 'HIGH', `nul \0 and half a pair \ud800 ${'x'.repeat(20_000)}`)
    log.write('INFO', 'LOW', 'third')
    for (let more = 0; more < 5; more += 1) log.write('INFO', 'LOW', 'more')
    await log.flush()
    const { rows, total } = await listLogs(stack.db, pipeline.id, { order: 'ASC' }, firstPage)
    expect(total).toBe(4)
    expect(rows[0]).toMatchObject({
      message: 'password=[redacted]',
      level: 'INFO',
      importance: 'LOW',
      run_uid: run.uid,
    })
    expect(rows[1]?.message).toMatch(/^nul ␀ and half a pair � x+…$/)
    expect(rows[1]?.message).toHaveLength(10_000)
    expect(rows[3]?.message).toBe('The log is full, because a run keeps 4 lines.')
  })

  it('can be filtered by run, level and importance, and is deleted with its pipeline', async () => {
    const { pipeline, run, claim } = await claimed()
    await using log = await openRunLog(stack.db, claim, new Redaction())
    log.write('INFO', 'LOW', 'one')
    log.write('ERROR', 'HIGH', 'two')
    await log.flush()
    const listed = async (query: object) =>
      (await listLogs(stack.db, pipeline.id, query, firstPage)).rows.map((row) => row.message)
    expect(await listed({})).toEqual(['two', 'one'])
    expect(await listed({ logLevel: 'ERROR' })).toEqual(['two'])
    expect(await listed({ logImportance: 'LOW', taskId: run.uid })).toEqual(['one'])
    expect(await listed({ taskId: (await claimed()).run.uid })).toEqual([])
    await stack.db.deleteFrom('data_pipelines').where('id', '=', pipeline.id).execute()
    log.write('INFO', 'LOW', 'to nobody')
    await log.flush()
    expect(await listed({})).toEqual([])
  })
})

describe('rejected rows of a run', () => {
  it('are stored up to a limit, counted beyond it, and replaced by the next attempt', async () => {
    const { pipeline, run, claim } = await claimed()
    const listed = () => listRejectedRows(stack.db, pipeline.id, run.uid, firstPage)
    const first = await openRejectedRows(stack.db, claim, { maxRows: 2 })
    for (const line of [2, 3, 4]) first.add({ line, column: 'age', reason: 'Not a number.', raw: 'a\0b' })
    await first[Symbol.asyncDispose]()
    expect(first.count).toBe(3)
    const { rows, total } = (await listed())!
    expect(total).toBe(2)
    expect(rows[0]).toMatchObject({ line: 2, column: 'age', reason: 'Not a number.', raw: 'a␀b', attempt: 1 })

    const second = await openRejectedRows(stack.db, (await claimRun(stack.db, run.uid))!)
    first.add({ line: 9, reason: 'Too late.', raw: '' })
    second.add({ line: 5, reason: 'Too few fields.', raw: 'x' })
    await Promise.all([first[Symbol.asyncDispose](), second[Symbol.asyncDispose]()])
    expect((await listed())?.rows).toMatchObject([{ line: 5, column: null, attempt: 2 }])
  })

  it('are not listed for another pipeline', async () => {
    const { run } = await claimed()
    const other = await stack.pipeline()
    expect(await listRejectedRows(stack.db, other.id, run.uid, firstPage)).toBeUndefined()
  })
})

describe('findLastRuns', () => {
  it('returns the newest run and the newest successful run of each pipeline', async () => {
    const never = await stack.pipeline()
    const { pipeline, claim } = await claimed()
    const only = await claimed()
    await finishRun(stack, claim, ok)
    const second = await stack.run(pipeline)
    await finishRun(stack, (await claimRun(stack.db, second.uid))!, failed)
    const found = await findLastRuns(stack.db, [never.id, pipeline.id, only.pipeline.id])
    expect([...found.keys()].toSorted()).toEqual([pipeline.id, only.pipeline.id].toSorted())
    expect(found.get(pipeline.id)).toMatchObject({ last: { uid: second.uid }, lastSuccess: { uid: claim.uid } })
    expect(found.get(only.pipeline.id)).toMatchObject({ last: { state: 'RUNNING' } })
    expect(found.get(only.pipeline.id)?.lastSuccess).toBeUndefined()
    await finishRun(stack, only.claim, ok)
    const { last, lastSuccess } = (await findLastRuns(stack.db, [only.pipeline.id])).get(only.pipeline.id)!
    expect(last.uid).toBe(lastSuccess?.uid)
    expect(last.finished_at).toBeInstanceOf(Date)
  })
})
