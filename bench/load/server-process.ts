import { onDatabase } from './database.ts'
import { parentOf } from './processor-time.ts'

/** Returns the process id of the PostgreSQL server. `processorTime` of it includes all sessions. */
export async function serverProcess(url: string): Promise<number> {
  return onDatabase(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return parentOf(rows[0]!.pid)
  })
}
