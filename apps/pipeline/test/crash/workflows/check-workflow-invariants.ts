import type { Selectable } from 'kysely'
import type { Client } from 'pg'
import type { Runs } from '../../../src/database.ts'
import { publications } from '../../worker/large-load.ts'
import type { Stack } from '../../worker/worker-stack.ts'
import type { Fate, RandomWorkflow } from './random-workflow.ts'

/** What is wrong with the runs of a workflow once nothing is under way any more, one sentence each. */
export async function wrongWith(stack: Stack, warehouse: Client, workflow: RandomWorkflow): Promise<string[]> {
  const runs = await stack.db.selectFrom('runs').selectAll().where('runnable_id', '=', workflow.id).execute()
  const wrong: string[] = []
  for (const run of runs) {
    const jobs = await jobsOf(stack, run)
    const children = await stack.db.selectFrom('runs').selectAll().where('workflow_run_id', '=', run.id).execute()
    const tell = (sentence: string) => wrong.push(`run ${run.id} of ${workflow.name}: ${sentence}`)
    const begun = jobs.filter(({ state }) => state !== 'SKIPPED')
    const ids = new Set(begun.map(({ child }) => child?.id))
    if (ids.size !== begun.length || children.length !== begun.length || children.some(({ id }) => !ids.has(id)))
      tell(`${begun.length} jobs ran, by ${children.length} runs`)
    for (const { state, child, fate, step } of begun) {
      if (child?.state !== state) tell(`a job is ${state}, its run ${child?.state}`)
      const gaveUp = child?.error_code === 'TOO_MANY_ATTEMPTS' || state === 'CANCELLED'
      if (state !== fate && !gaveUp) tell(`a job is ${state}, and not ${fate}`)
      const published = child ? await publications(warehouse, child) : 0
      if (published !== (state === 'OK' || state === 'WARNING' ? 1 : 0))
        tell(`a ${state} job has ${published} publications`)
      const early = begun.filter((one) => one.step < step && one.child!.finished_at! > child!.created_at)
      if (early.length > 0 && run.state !== 'CANCELLED')
        tell(`step ${step} began before step ${early[0]!.step} had ended`)
    }
    if (run.state !== 'CANCELLED' && run.state !== expected(begun))
      tell(`it is ${run.state}, and not ${expected(begun)}`)
    const failed = begun.some(({ state }) => state === 'FAILED' || state === 'CANCELLED')
    const left = jobs.length - begun.length
    if (run.state !== 'CANCELLED' && left > 0 && !(failed && workflow.strategy === 'STOP'))
      tell(`${left} jobs were left out`)
  }
  return wrong

  async function jobsOf({ db }: Stack, { id }: Selectable<Runs>) {
    const rows = await db.selectFrom('workflow_run_jobs').selectAll().where('run_id', '=', id).execute()
    const children = await db
      .selectFrom('runs')
      .selectAll()
      .where('id', 'in', [0, ...rows.map(({ child_run_id }) => child_run_id ?? 0)])
      .execute()
    return rows.map(({ step, state, runnable_id, child_run_id }) => ({
      step,
      state,
      fate: workflow.fates.get(runnable_id!)!,
      child: children.find(({ id }) => id === child_run_id),
    }))
  }
}

const expected = (jobs: readonly { state: string }[]): Fate => {
  if (jobs.some(({ state }) => state === 'FAILED' || state === 'CANCELLED')) return 'FAILED'
  return jobs.some(({ state }) => state === 'WARNING') || jobs.length === 0 ? 'WARNING' : 'OK'
}
