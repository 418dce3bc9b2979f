import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { Claim } from './claim.ts'
import { before } from './states.ts'

/**
 * Why a worker gives a run back. `unfinished`: it was told to stop, or what the run needs is away, which does not use up
 * one of the run's tries.
 */
export type Reason = { unfinished: true } | { code: string; message: string; unfinished?: boolean }

/** Makes a run QUEUED again. False when it is no longer this attempt's. The caller's transaction queues its job. */
export async function giveBackRun(trx: Transaction<DB>, { id, attempt }: Claim, reason: Reason): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('runs')
    .set((eb) => ({
      state: 'QUEUED',
      heartbeat_at: null,
      ...(reason.unfinished && { handed_back: eb('handed_back', '+', 1) }),
      ...('code' in reason && { message: reason.message, error_code: reason.code }),
    }))
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('state', 'in', before('QUEUED'))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
