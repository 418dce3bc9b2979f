import { randomBytes } from 'node:crypto'
import { cancelRun } from '../../src/run-lifecycle/cancel-run.ts'
import { claimRun } from '../../src/runs/claim-run.ts'
import { finishRun, type RunOutcome } from '../../src/run-lifecycle/finish-run.ts'
import type { RunMode } from '../../src/runs/runnable-kinds.ts'
import { startRun } from '../../src/run-lifecycle/start-run.ts'
import type { Stack } from './worker-stack.ts'

export interface Step {
  mode?: 'SERIAL' | 'PARALLEL'
  delay?: number
  disabled?: boolean
  /** Keys of what the jobs run. */
  jobs: readonly number[]
}

export interface WorkflowOf {
  id: number
  client: string
  name: string
}

export async function makeWorkflow(
  { db }: Stack,
  client: string,
  steps: readonly Step[],
  strategy: 'STOP' | 'CONTINUE' = 'STOP',
): Promise<WorkflowOf> {
  const name = `w${randomBytes(4).toString('hex')}`
  const { id } = await db
    .insertInto('workflows')
    .values({ client, name, disabled: false, run_trigger: 'NEVER', error_strategy: strategy })
    .returning('id')
    .executeTakeFirstOrThrow()
  await setSteps({ db }, id, steps)
  return { id, client, name }
}

export async function setSteps({ db }: Pick<Stack, 'db'>, workflow: number, steps: readonly Step[]): Promise<void> {
  await db.deleteFrom('workflow_steps').where('workflow_id', '=', workflow).execute()
  for (const [index, { mode = 'SERIAL', delay = 0, disabled = false, jobs }] of steps.entries()) {
    const step = { workflow_id: workflow, step: index + 1 }
    await db
      .insertInto('workflow_steps')
      .values({ ...step, execution_mode: mode, delay_after: delay, disabled })
      .execute()
    for (const [place, runnable_id] of jobs.entries())
      await db
        .insertInto('workflow_jobs')
        .values({ ...step, job: place + 1, runnable_id })
        .execute()
  }
}

export async function begin({ db, queue }: Stack, { id, client }: WorkflowOf, mode: RunMode = 'FULL') {
  const asked = { trigger: 'MANUAL' as const, mode, createdBy: null }
  const { run } = await db.transaction().execute((trx) => startRun(trx, queue, { id, client, kind: 'WORKFLOW' }, asked))
  return run
}

export const cancel = ({ db, queue }: Stack, { id }: { id: number }) =>
  db.transaction().execute((trx) => cancelRun(trx, queue, id))

/** Where each job of a run is: step by step. */
export async function jobStates({ db }: Stack, run: { id: number }): Promise<string[][]> {
  const rows = await db
    .selectFrom('workflow_run_jobs')
    .select(['step', 'state'])
    .where('run_id', '=', run.id)
    .orderBy('step')
    .orderBy('job')
    .execute()
  return [...Map.groupBy(rows, ({ step }) => step).values()].map((jobs) => jobs.map(({ state }) => state))
}

/** The run of this that is under way. */
export const underWay = ({ db }: Stack, runnable: number) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('runnable_id', '=', runnable)
    .where('state', 'in', ['QUEUED', 'RUNNING'])
    .executeTakeFirst()

const numbers = { rowsWritten: 1, bytesWritten: 1, rowsRejected: 0 }
const outcomes: Record<'OK' | 'WARNING' | 'FAILED', RunOutcome> = {
  OK: { state: 'OK', message: 'Done.', ...numbers },
  WARNING: { state: 'WARNING', message: 'Done, nearly.', ...numbers },
  FAILED: { state: 'FAILED', code: 'X', message: 'It broke.' },
}

/** What a worker would do with the run of this that is under way. */
export async function finish(stack: Stack, runnable: number, state: keyof typeof outcomes = 'OK'): Promise<void> {
  const run = await underWay(stack, runnable)
  const claim = run && (await claimRun(stack.db, run.uid))
  if (!claim) throw new Error(`No run of ${runnable} is under way.`)
  await finishRun(stack, claim, outcomes[state])
}
