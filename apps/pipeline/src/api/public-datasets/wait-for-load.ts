import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '@sluice/http'
import type { Asked } from '../operation.ts'

/** Milliseconds between two looks, and seconds of patience where the request says nothing. */
const looking = 150
const usual = 30

/**
 * Waits for a run to end, as long as whoever asked wants to and is there. Throws why it failed; what is still under way by then
 * goes on, and is no failure.
 */
export async function waitForLoad(
  { db, request }: Pick<Asked, 'db' | 'request'>,
  run: string,
  seconds: number = usual,
): Promise<void> {
  const until = Date.now() + seconds * 1000
  for (;;) {
    const { state, message } = await db
      .selectFrom('runs')
      .select(['state', 'message'])
      .where('uid', '=', run)
      .executeTakeFirstOrThrow()
    if (state === 'OK' || state === 'WARNING') return
    if (state === 'FAILED' || state === 'CANCELLED') throw notLoaded(message)
    if (Date.now() >= until || request.stream.socket.destroyed) return
    await sleep(looking)
  }
}

const notLoaded = (message: string | null) =>
  new Problem(422, 'dataset-not-loaded', 'The file of the public dataset cannot be loaded.', {
    detail: message === null ? 'Loading it was cancelled.' : message,
  })
