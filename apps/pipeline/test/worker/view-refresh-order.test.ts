import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { mustWaitForInputs, listStaleInputs } from '../../src/views/wait-for-input-views.ts'
import { storeViewSources } from '../../src/views/view-dependencies.ts'
import { createRun } from '../../src/runs/queue-run.ts'
import { startStack, type Pipeline, type Stack } from './worker-stack.ts'
import { spawnWorker } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
let pipeline: Pipeline
beforeAll(async () => {
  stack = await startStack()
  pipeline = await stack.pipeline()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

async function view(reads: string[], materialized = true, query = '') {
  const name = `v${randomBytes(4).toString('hex')}`
  const { id: schema_id } = await stack.db
    .selectFrom('schemas')
    .select('id')
    .where('client', '=', pipeline.client)
    .executeTakeFirstOrThrow()
  const values = { client: pipeline.client, name, schema_id, view_name: name, query, materialized, disabled: false }
  const { id } = await stack.db
    .insertInto('views')
    .values({ ...values, run_trigger: 'NEVER', filled_at: new Date() })
    .returning('id')
    .executeTakeFirstOrThrow()
  await storeViewSources(
    stack.db,
    id,
    reads.map((read) => ({ schema: pipeline.schema, name: read })),
  )
  return { id, name }
}

const run = async ({ id }: { id: number }, trigger: 'MANUAL' | 'SCHEDULE' = 'SCHEDULE', scheduledFor?: Date) => {
  const asked = { runnableId: id, client: pipeline.client, trigger, createdBy: null, input: {} }
  const request = { ...asked, ...(scheduledFor && { scheduledFor }) }
  return (await stack.db.transaction().execute((trx) => createRun(trx, stack.queue, request))).run
}
const waits = async ({ uid }: { uid: string }) =>
  (await sql<{ waits: boolean }>`select ${mustWaitForInputs(uid)} as waits`.execute(stack.db)).rows[0]!.waits
const end = ({ id }: { id: number }) =>
  stack.db.updateTable('runs').set({ state: 'FAILED', finished_at: new Date() }).where('id', '=', id).execute()

describe('due materialised view', () => {
  it('waits for runs of the views it reads, also through plain views, even if they fail', async () => {
    const input = await view([pipeline.table])
    const between = await view([input.name], false)
    const last = await view([between.name])
    const [first, second] = [await run(last), await run(input)]
    expect([await waits(first), await waits(second)]).toEqual([true, false])
    await end(second)
    expect(await waits(first)).toBe(false)
  })

  it('waits for an input view that is due at the same tick and was not started yet', async () => {
    const input = await view([])
    const last = await view([input.name])
    const tick = new Date(Math.floor(Date.now() / 1000) * 1000)
    const due = await run(last, 'SCHEDULE', tick)
    expect(await waits(due)).toBe(false)
    await stack.db.updateTable('runnables').set({ next_run_at: tick }).where('id', '=', input.id).execute()
    expect(await waits(due)).toBe(true)
    await stack.db.updateTable('runnables').set({ disabled: true }).where('id', '=', input.id).execute()
    expect(await waits(due)).toBe(false)
  })

  it('does not wait if started manually, for later runs, or longer than six hours', async () => {
    const input = await view([])
    const last = await view([input.name])
    const asked = await run(last, 'MANUAL')
    const later = await run(input)
    expect(await waits(asked)).toBe(false)
    await end(asked)
    const due = await run(last)
    expect(await waits(due)).toBe(true)
    const at = (id: number, created_at: Date) =>
      stack.db.updateTable('runs').set({ created_at }).where('id', '=', id).execute()
    await at(later.id, new Date(Date.now() + 120_000))
    expect(await waits(due)).toBe(false)
    await at(later.id, new Date())
    await at(due.id, new Date(Date.now() - 7 * 3_600_000))
    expect(await waits(due)).toBe(false)
  })

  it('lists the input views that are older than their sources', async () => {
    const input = await view([pipeline.table])
    const between = await view([input.name])
    const last = await view([between.name])
    expect(await listStaleInputs(stack.db, last.id)).toEqual([])
    await stack.db
      .insertInto('runs')
      .values({ runnable_id: pipeline.id, client: pipeline.client, trigger: 'MANUAL', state: 'OK', input: '{}' })
      .returning('id')
      .execute()
    await stack.db
      .updateTable('runs')
      .set({ finished_at: new Date(Date.now() + 1000) })
      .where('runnable_id', '=', pipeline.id)
      .execute()
    expect(await listStaleInputs(stack.db, last.id)).toEqual([input.name])
    const filled = new Date(Date.now() + 2000)
    await stack.db.updateTable('views').set({ filled_at: filled }).where('id', '=', input.id).execute()
    expect(await listStaleInputs(stack.db, last.id)).toEqual([between.name])
  })

  it('is filled by a worker after its input view, although it was queued first', async () => {
    const input = await view([], true, 'select pg_sleep(2)::text as a')
    const last = await view([input.name], true, `select a from ${input.name}`)
    const [first, second] = [await run(last), await run(input)]
    await using _worker = await spawnWorker(stack.environment)
    const [late, early] = await until(async () => {
      const states = await Promise.all([first, second].map((one) => stack.state(one)))
      return states.every(({ finished_at }) => finished_at) && states
    })
    expect([late!.state, early!.state, late!.attempt]).toEqual(['OK', 'OK', 1])
    expect(late!.started_at!.getTime()).toBeGreaterThanOrEqual(early!.finished_at!.getTime())
    const warehouse = await stack.warehouses.open(pipeline.client)
    expect(await warehouse.views.find(pipeline.schema, last.name)).toMatchObject({ rowCount: 1, populated: true })
  })
})
