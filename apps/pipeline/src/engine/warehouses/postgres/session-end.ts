import type { Client } from 'pg'
import { readClient, type WarehouseAccess } from './access.ts'
import { leave } from './reading.ts'

/** Process number at the server. */
export function sessionOf(client: Client): number | undefined {
  return (client as unknown as { processID: number | null }).processID ?? undefined
}

/**
 * Ends a session whose connection was cut, from another one of the same role, and waits up to two seconds for its end. A cut
 * alone is noticed within a second, unless what runs there has turned that off. Never throws.
 */
export async function endSession(access: WarehouseAccess, session: number | undefined): Promise<void> {
  if (session === undefined) return
  const client = readClient(access)
  try {
    await client.connect()
    await client.query(
      `select pg_terminate_backend(pid, 2000) from pg_stat_activity where pid = $1 and usename = current_user`,
      [session],
    )
  } catch {
    // A server that takes no connection just now ends what lost its own by itself.
  } finally {
    await leave(client)
  }
}
