import { setTimeout as pause } from 'node:timers/promises'
import { withConnection } from './database.ts'
import { readParentPid, readProcessorTime } from './processor-time.ts'

/** Returns the process id of the PostgreSQL server. `readProcessorTime` of it includes all sessions. */
export async function findServerPid(url: string): Promise<number> {
  return withConnection(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return readParentPid(rows[0]!.pid)
  })
}

/** Milliseconds after the end of a run in which PostgreSQL still works for it. */
const cleanUpMs = 3_000
/** Milliseconds for which the idle server is measured. */
const idleMs = 3_000

/**
 * Returns a function that returns the processor time in milliseconds that PostgreSQL needs for `work`, without that of
 * an idle installation in the same time. All processes of the server count, also those that write the log and the
 * pages. The idle time is measured directly before, because it differs with the other load of the machine.
 */
export async function serverMeter(url: string): Promise<(work: () => Promise<unknown>) => Promise<number>> {
  const server = await findServerPid(url)
  const measure = async (work: () => Promise<unknown>) => {
    const [startedAt, before] = [performance.now(), await readProcessorTime(server)]
    await work()
    return { used: (await readProcessorTime(server)) - before, elapsed: performance.now() - startedAt }
  }
  return async (work) => {
    const idle = await measure(() => pause(idleMs))
    const { used, elapsed } = await measure(async () => {
      await work()
      await pause(cleanUpMs)
    })
    return Math.max(0, Math.round(used - (idle.used / idle.elapsed) * elapsed))
  }
}
