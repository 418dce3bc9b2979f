import { sql } from 'kysely'
import { cancelRun } from '../../../src/run-lifecycle/cancel-run.ts'
import { runTransaction } from '../../../src/runs/run-transaction.ts'
import type { Pipeline, Stack } from '../../worker/worker-stack.ts'
import type { Dice } from './seeded-random.ts'

/** A requested run and the table that it must produce. Every row contains the number of the run. */
export interface Asked {
  id: number
  uid: string
  number: number
  /** Rows that fit. */
  rows: number
  /** Too many of its rows do not fit, so it has to fail. */
  bad: boolean
  /** Milliseconds since 1970, in the database's time, when it was surely cancelled. */
  cancelledAt?: number
}

/** A pipeline that runs again and again, one run after the other. */
export interface Target {
  name: string
  pipeline: Pipeline
  dice: Dice
  asked: Asked[]
}

export async function makeTargets(stack: Stack, all: Dice, { clients = 3, each = 6 } = {}): Promise<Target[]> {
  const targets: Target[] = []
  for (let client = 0; client < clients; client += 1) {
    const first = await stack.pipeline()
    for (let place = 0; place < each; place += 1) {
      const pipeline = place === 0 ? first : await stack.pipeline(first.client)
      const name = `${client}.${place}`
      targets.push({ name, pipeline, dice: all.branch(`target ${name}`), asked: [] })
    }
  }
  return targets
}

/** Asks for the next run of a target: 500 to 12,500 rows, a tenth of the runs bad, some with a column more. */
export async function askNext(stack: Stack, target: Target): Promise<Asked> {
  const { pipeline, asked } = target
  const number = asked.length + 1
  const dice = target.dice.branch(`run ${number}`)
  const rows = dice.pick([500, 3_000, 12_000]) + dice.between(0, 499)
  const bad = dice.chance(0.1)
  const rejected = bad ? rows : dice.chance(0.1) ? 1 : 0
  const file = await stack.upload(pipeline, content({ number, rows, rejected, more: dice.chance(0.3) }))
  const { id, uid } = await stack.run(pipeline, file)
  const one: Asked = { id, uid, number, rows, bad }
  asked.push(one)
  return one
}

interface Content {
  number: number
  rows: number
  /** Rows with a field too many. */
  rejected: number
  /** Whether there is a column that other runs do not have. */
  more: boolean
}

function content({ number, rows, rejected, more }: Content): string {
  const tail = more ? ',a text that only some runs bring' : ',and a text'
  const lines = [more ? 'run,row,name,more' : 'run,row,name']
  for (let row = 0; row < rows; row += 1) lines.push(`${number},${row}${tail}${more ? ',x' : ''}`)
  for (let row = 0; row < rejected; row += 1) lines.push(`${number},${row},a,b,c,d`)
  return `${lines.join('\n')}\n`
}

/** Cancels the run that is under way, and notes when that held. */
export async function cancel(stack: Stack, { pipeline, asked }: Target): Promise<void> {
  const cancelled = await runTransaction(stack.db, (trx) => cancelRun(trx, stack.queue, pipeline.id))
  if (!cancelled) return
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(stack.db)
  const one = asked.find(({ id }) => id === cancelled.id)
  if (one) one.cancelledAt = rows[0]!.now.getTime()
}
