import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { until } from '@sluice/testing/wait-until'
import { begin, cancel, underWay } from '../worker/workflow-fixtures.ts'
import { dice } from './random/seeded-random.ts'
import { age, hurry, spawn } from './random/worker-fleet.ts'
import { watchOver } from './random/kill-at-random.ts'
import { wrongWith } from './workflows/check-workflow-invariants.ts'
import { randomWorkflow, type RandomWorkflow } from './workflows/random-workflow.ts'

const kills = drawCount({ short: 6, long: 200, variable: 'SLUICE_KILLS' })
/** SLUICE_SEED repeats the draws: the same workflows, and workers that live equally long. */
const seed = process.env['SLUICE_SEED'] ?? randomBytes(4).toString('hex')

itUnless(longRunOnly)(
  `every job of every workflow runs once and in order while ${kills} workers are killed at random`,
  async () => {
    process.stdout.write(`workflow kills: SLUICE_SEED=${seed}\n`)
    const all = dice(seed)
    await using stack = await startStack({ heartbeatSeconds: 10 })
    await using _watch = await watchOver(stack)
    const { client } = await stack.pipeline()
    const workflows = await Promise.all(
      [1, 2, 3].map((one) => randomWorkflow(stack, client, all.branch(`workflow ${one}`))),
    )

    let draining = false
    const over = new AbortController()
    const around = (async () => {
      for (let round = 1; !over.signal.aborted; round += 1) {
        if (!draining) for (const workflow of workflows) await askNext(workflow, round)
        await hurry(stack)
        await sleep(100)
      }
    })()
    async function askNext(workflow: RandomWorkflow, round: number): Promise<void> {
      const chance = all.branch(`${workflow.name} ${round}`)
      if (!(await underWay(stack, workflow.id))) await begin(stack, workflow)
      else if (chance.chance(0.001)) await cancel(stack, workflow)
    }

    let killed = 0
    const slot = async (name: string) => {
      const lives = all.branch(name)
      while (killed < kills) {
        killed += 1
        const worker = await spawn(stack)
        await worker.heard(/a run was claimed/, 10_000)
        await sleep(lives.between(0, 2_500))
        await worker.program.stop('SIGKILL')
        await age(stack, worker.runs())
      }
    }
    try {
      await Promise.all(['one', 'two'].map(slot))
      draining = true
      const last = await spawn(stack)
      await until(async () => (await countActiveRuns(stack)) === 0, { within: 180_000, every: 200 })
      await last.program.stop('SIGTERM')
    } finally {
      over.abort()
      await around
    }

    await using warehouse = await stack.inside(client)
    const wrong = (await Promise.all(workflows.map((workflow) => wrongWith(stack, warehouse, workflow)))).flat()
    expect({ seed, wrong }).toEqual({ seed, wrong: [] })
    const states = await stack.db
      .selectFrom('runs as r')
      .innerJoin('runnables as s', 's.id', 'r.runnable_id')
      .select((eb) => ['s.kind', 'r.state', eb.fn.countAll<number>().as('count')])
      .groupBy(['s.kind', 'r.state'])
      .execute()
    process.stdout.write(`workflow kills: ${killed} kills, ${JSON.stringify(states)}\n`)
  },
  300_000 + kills * 10_000,
)

async function countActiveRuns({ db }: Stack): Promise<number> {
  const { count } = await db
    .selectFrom('runs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('state', 'in', ['QUEUED', 'RUNNING'])
    .executeTakeFirstOrThrow()
  return count
}
