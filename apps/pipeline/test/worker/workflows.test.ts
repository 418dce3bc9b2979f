import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { claimRun } from '../../src/runs/claim-run.ts'
import { finishRun } from '../../src/run-lifecycle/finish-run.ts'
import { advanceDueWorkflows } from '../../src/run-lifecycle/advance-due-workflows.ts'
import { startStack, type Stack } from './worker-stack.ts'
import { begin, cancel, finish, jobStates, makeWorkflow, setSteps, underWay } from './workflow-fixtures.ts'

let stack: Stack
let client: string
beforeAll(async () => {
  stack = await startStack()
  client = (await stack.pipeline()).client
})
afterAll(() => stack?.[Symbol.asyncDispose]())

const pipelines = (many: number) =>
  Promise.all(Array.from({ length: many }, async () => (await stack.pipeline(client)).id))
const isQueued = async (runnable: number) => (await underWay(stack, runnable)) !== undefined
const logOf = async ({ id }: { id: number }) =>
  (await stack.db.selectFrom('run_logs').select('message').where('run_id', '=', id).orderBy('id').execute()).map(
    ({ message }) => message,
  )

describe('workflow run', () => {
  it('is RUNNING from the start, and runs its serial jobs one after another, each once', async () => {
    const [one, two, three] = (await pipelines(3)) as [number, number, number]
    const workflow = await makeWorkflow(stack, client, [{ jobs: [one, two] }, { jobs: [three] }])
    const run = await begin(stack, workflow)
    expect(run).toMatchObject({ state: 'RUNNING', attempt: 1, heartbeat_at: null, started_at: expect.any(Date) })
    expect((await begin(stack, workflow)).id).toBe(run.id)
    for (const [index, pipeline] of [one, two, three].entries()) {
      expect(await Promise.all([one, two, three].map(isQueued))).toEqual([index === 0, index === 1, index === 2])
      const child = await underWay(stack, pipeline)
      expect(child).toMatchObject({ trigger: 'WORKFLOW', workflow_run_id: run.id, mode: 'FULL' })
      await finish(stack, pipeline)
    }
    expect(await stack.state(run)).toMatchObject({ state: 'OK', message: '3 jobs ended well.', error_code: null })
    expect(await jobStates(stack, run)).toEqual([['OK', 'OK'], ['OK']])
    const { length } = await stack.db.selectFrom('runs').select('id').where('workflow_run_id', '=', run.id).execute()
    expect(length).toBe(3)
    expect((await logOf(run))[0]).toBe('The workflow runs 3 jobs.')
  })

  it('starts all jobs of a parallel step at once, and the next step after all have ended', async () => {
    const [one, two, three, four] = (await pipelines(4)) as [number, number, number, number]
    const steps = [{ mode: 'PARALLEL' as const, jobs: [one, two, three] }, { jobs: [four] }]
    const run = await begin(stack, await makeWorkflow(stack, client, steps))
    expect(await Promise.all([one, two, three, four].map(isQueued))).toEqual([true, true, true, false])
    await Promise.all([one, two, three].map((pipeline) => finish(stack, pipeline)))
    expect(await isQueued(four)).toBe(true)
    await finish(stack, four, 'WARNING')
    expect(await stack.state(run)).toMatchObject({
      state: 'WARNING',
      message: expect.stringContaining('With warnings'),
    })
  })

  it('stops after a failed job, and names it in the message', async () => {
    const [one, two, three] = (await pipelines(3)) as [number, number, number]
    const run = await begin(
      stack,
      await makeWorkflow(stack, client, [{ mode: 'PARALLEL', jobs: [one, two] }, { jobs: [three] }]),
    )
    await finish(stack, one, 'FAILED')
    expect(await jobStates(stack, run)).toEqual([['FAILED', 'RUNNING'], ['SKIPPED']])
    await finish(stack, two)
    const { state, message, error_code } = await stack.state(run)
    const { name } = await stack.db
      .selectFrom('runnables')
      .select('name')
      .where('id', '=', one)
      .executeTakeFirstOrThrow()
    expect({ state, error_code }).toEqual({ state: 'FAILED', error_code: 'JOBS_FAILED' })
    expect(message).toContain(`1 job failed: "${name}".`)
  })

  it('continues after a failed job with errorStrategy CONTINUE, and ends as FAILED', async () => {
    const [one, two] = (await pipelines(2)) as [number, number]
    const run = await begin(stack, await makeWorkflow(stack, client, [{ jobs: [one, two] }], 'CONTINUE'))
    await finish(stack, one, 'FAILED')
    await finish(stack, two)
    expect(await jobStates(stack, run)).toEqual([['FAILED', 'OK']])
    expect((await stack.state(run)).state).toBe('FAILED')
  })

  it('skips disabled steps and disabled jobs, and ends with a WARNING if no job ran', async () => {
    const [one, two] = (await pipelines(2)) as [number, number]
    await stack.db.updateTable('data_pipelines').set({ disabled: true }).where('id', '=', two).execute()
    const steps = [{ disabled: true, jobs: [one] }, { jobs: [two, one] }]
    const run = await begin(stack, await makeWorkflow(stack, client, steps))
    expect(await jobStates(stack, run)).toEqual([['SKIPPED'], ['SKIPPED', 'RUNNING']])
    await finish(stack, one)
    expect((await stack.state(run)).state).toBe('OK')
    expect((await logOf(run)).join('\n')).toContain('is disabled, so it is skipped.')
    const idle = await begin(stack, await makeWorkflow(stack, client, [{ jobs: [two] }]))
    expect(idle).toMatchObject({ state: 'WARNING', message: expect.stringContaining('No job ran') })
  })

  it('waits for the delay after a step, and continues when it is due', async () => {
    const [one, two] = (await pipelines(2)) as [number, number]
    const run = await begin(stack, await makeWorkflow(stack, client, [{ delay: 3_600, jobs: [one] }, { jobs: [two] }]))
    await finish(stack, one)
    await advanceDueWorkflows(stack.db, stack.queue)
    expect(await jobStates(stack, run)).toEqual([['OK'], ['WAITING']])
    await sql`
      update workflow_run_jobs set due_at = due_at - interval '1 hour', finished_at = finished_at - interval '1 hour'
      where run_id = ${run.id}`.execute(stack.db)
    await Promise.all([1, 2, 3].map(() => advanceDueWorkflows(stack.db, stack.queue)))
    expect(await jobStates(stack, run)).toEqual([['OK'], ['RUNNING']])
    await finish(stack, two)
    expect((await stack.state(run)).state).toBe('OK')
  })

  it('waits for a run that was already active, and does not cancel it when it is cancelled itself', async () => {
    const [one] = (await pipelines(1)) as [number]
    const before = await stack.run({ id: one, client, schema: '', table: '' })
    const [first, second] = await Promise.all([
      makeWorkflow(stack, client, [{ jobs: [one] }]),
      makeWorkflow(stack, client, [{ jobs: [one] }]),
    ])
    const [cancelled, counted] = [await begin(stack, first), await begin(stack, second)]
    await cancel(stack, first)
    expect(await stack.state(cancelled)).toMatchObject({ state: 'CANCELLED' })
    expect((await underWay(stack, one))?.id).toBe(before.id)
    await finish(stack, one, 'FAILED')
    expect((await stack.state(counted)).state).toBe('FAILED')
  })

  it('is cancelled with its jobs', async () => {
    const [one, two, three] = (await pipelines(3)) as [number, number, number]
    const workflow = await makeWorkflow(stack, client, [{ mode: 'PARALLEL', jobs: [one, two] }, { jobs: [three] }])
    const run = await begin(stack, workflow)
    await finish(stack, one)
    await cancel(stack, workflow)
    expect(await jobStates(stack, run)).toEqual([['OK', 'CANCELLED'], ['SKIPPED']])
    expect(await stack.state(run)).toMatchObject({ state: 'CANCELLED', message: expect.stringContaining('cancelled') })
    expect(await Promise.all([one, two, three].map(isQueued))).toEqual([false, false, false])
    expect(await advanceDueWorkflows(stack.db, stack.queue)).toBe(0)
  })

  it('treats a cancelled job like a failed one', async () => {
    const [one, two] = (await pipelines(2)) as [number, number]
    const run = await begin(stack, await makeWorkflow(stack, client, [{ jobs: [one, two] }]))
    await cancel(stack, { id: one })
    expect(await jobStates(stack, run)).toEqual([['CANCELLED', 'SKIPPED']])
    expect((await stack.state(run)).state).toBe('FAILED')
  })

  it('passes mode INCREMENTAL only to pipelines with continuous updates', async () => {
    const [one, two] = (await pipelines(2)) as [number, number]
    await stack.db
      .updateTable('data_pipelines')
      .set({ continuously_updated: true, continuous_update_interval: 15 })
      .where('id', '=', one)
      .execute()
    await begin(stack, await makeWorkflow(stack, client, [{ mode: 'PARALLEL', jobs: [one, two] }]), 'INCREMENTAL')
    expect([(await underWay(stack, one))?.mode, (await underWay(stack, two))?.mode]).toEqual(['INCREMENTAL', 'FULL'])
  })

  it('keeps the steps that it started with, and skips a job whose pipeline was deleted', async () => {
    const [one, two] = (await pipelines(2)) as [number, number]
    const workflow = await makeWorkflow(stack, client, [{ jobs: [one, two] }])
    const run = await begin(stack, workflow)
    await setSteps(stack, workflow.id, [])
    await stack.db.deleteFrom('data_pipelines').where('id', '=', two).execute()
    await finish(stack, one)
    expect(await jobStates(stack, run)).toEqual([['OK', 'SKIPPED']])
    expect((await stack.state(run)).state).toBe('OK')
  })

  it('detects ended and deleted job runs that it was not notified of', async () => {
    const [one, two] = (await pipelines(2)) as [number, number]
    const run = await begin(stack, await makeWorkflow(stack, client, [{ jobs: [one, two] }], 'CONTINUE'))
    await stack.db.updateTable('runs').set({ state: 'OK' }).where('runnable_id', '=', one).execute()
    await advanceDueWorkflows(stack.db, stack.queue)
    expect(await jobStates(stack, run)).toEqual([['OK', 'RUNNING']])
    await stack.db.deleteFrom('runs').where('runnable_id', '=', two).execute()
    await advanceDueWorkflows(stack.db, stack.queue)
    expect(await jobStates(stack, run)).toEqual([['OK', 'FAILED']])
    expect((await stack.state(run)).state).toBe('FAILED')
  })

  it('does not prevent a job from ending when it cannot advance, and continues after the repair', async () => {
    const [one, two] = (await pipelines(2)) as [number, number]
    const run = await begin(stack, await makeWorkflow(stack, client, [{ jobs: [one, two] }]))
    await sql`alter table runs add constraint no_more check (workflow_run_id is null or id <= ${sql.lit(run.id + 1)}) not valid`.execute(
      stack.db,
    )
    const first = (await underWay(stack, one))!
    await finish(stack, one)
    expect((await stack.state(first)).state).toBe('OK')
    expect(await jobStates(stack, run)).toEqual([['RUNNING', 'WAITING']])
    await expect(advanceDueWorkflows(stack.db, stack.queue)).rejects.toThrow('no_more')
    await sql`alter table runs drop constraint no_more`.execute(stack.db)
    await advanceDueWorkflows(stack.db, stack.queue)
    expect(await jobStates(stack, run)).toEqual([['OK', 'RUNNING']])
  })

  it('ends with all jobs OK when they finish while it is being cancelled', async () => {
    for (let round = 0; round < 8; round += 1) {
      const ids = await pipelines(4)
      const workflow = await makeWorkflow(stack, client, [{ mode: 'PARALLEL', jobs: ids }])
      const run = await begin(stack, workflow)
      const claims = await Promise.all(ids.map(async (id) => claimRun(stack.db, (await underWay(stack, id))!.uid)))
      const ok = { state: 'OK', message: '', rowsWritten: 1, bytesWritten: 1, rowsRejected: 0 } as const
      await Promise.all([cancel(stack, workflow), ...claims.map((claim) => finishRun(stack, claim!, ok))])
      // One that ended after all is OK in the end, as its table says.
      expect(['OK', 'CANCELLED']).toContain((await stack.state(run)).state)
      for (const states of await jobStates(stack, run)) expect(states).toEqual(['OK', 'OK', 'OK', 'OK'])
    }
  })
})
