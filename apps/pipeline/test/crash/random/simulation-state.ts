import type { Client } from 'pg'
import type { Stack } from '../../worker/worker-stack.ts'
import { wrongNow } from './check-invariants.ts'
import type { Target } from './load-targets.ts'

/** What is going on, for all who take part in it. */
export interface Game {
  stack: Stack
  targets: Target[]
  /** The superuser in each client's warehouse: one connection for the judge and one for the reader. */
  seats: Map<string, { judge: Client; reader: Client }>
  wrong: string[]
  kills: number
  /** Kills by where the worker was. */
  places: Record<string, number>
  /** Workers that did not reach the failpoint of their plan, by failpoint. */
  missed: Record<string, number>
  /** Whether no further runs are requested. */
  draining: boolean
  over: boolean
}

const looks = new WeakMap<Client, Promise<unknown>>()

/** The judge looks at a target; one look at a time in each warehouse. */
export function lookAt({ stack, seats }: Game, target: Target): Promise<string[]> {
  const { judge } = seats.get(target.pipeline.client)!
  const look = (looks.get(judge) ?? Promise.resolve()).then(() => wrongNow(stack, judge, target))
  looks.set(
    judge,
    look.catch(() => {}),
  )
  return look
}

export async function listActiveRuns({ stack }: Game): Promise<{ id: number; uid: string; runnable_id: number }[]> {
  return stack.db
    .selectFrom('runs')
    .select(['id', 'uid', 'runnable_id'])
    .where('state', 'in', ['QUEUED', 'RUNNING'])
    .execute()
}
