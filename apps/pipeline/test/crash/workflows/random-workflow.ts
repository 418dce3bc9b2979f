import type { Stack } from '../../worker/worker-stack.ts'
import { makeWorkflow, type WorkflowOf } from '../../worker/workflow-fixtures.ts'
import type { Dice } from '../random/seeded-random.ts'

/** The outcome of a pipeline's run that is not cancelled. */
export type Fate = 'OK' | 'WARNING' | 'FAILED'

export interface RandomWorkflow extends WorkflowOf {
  strategy: 'STOP' | 'CONTINUE'
  fates: Map<number, Fate>
}

const rows = 3_000

/** Three steps or so of pipelines that are its own; most load well, some with a rejected row, some not at all. */
export async function randomWorkflow(stack: Stack, client: string, dice: Dice): Promise<RandomWorkflow> {
  const fates = new Map<number, Fate>()
  const steps = []
  for (let step = dice.between(2, 4); step > 0; step -= 1) {
    const jobs: number[] = []
    for (let job = dice.between(1, 3); job > 0; job -= 1) {
      const pipeline = await stack.pipeline(client)
      const fate = dice.pick<Fate>(['OK', 'OK', 'OK', 'OK', 'WARNING', 'FAILED'])
      await stack.upload(pipeline, content(fate))
      fates.set(pipeline.id, fate)
      jobs.push(pipeline.id)
    }
    const mode = dice.pick<'SERIAL' | 'PARALLEL'>(['SERIAL', 'PARALLEL'])
    steps.push({ mode, delay: dice.between(0, 1), jobs })
  }
  const strategy = dice.pick<'STOP' | 'CONTINUE'>(['STOP', 'CONTINUE'])
  return { ...(await makeWorkflow(stack, client, steps, strategy)), strategy, fates }
}

function content(fate: Fate): string {
  const rejected = { OK: 0, WARNING: 1, FAILED: rows }[fate]
  return `row,name\n${'1,a name\n'.repeat(rows)}${'1,a,b,c\n'.repeat(rejected)}`
}
