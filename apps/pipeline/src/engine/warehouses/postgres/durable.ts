import type { ClientBase } from 'pg'

/**
 * For a transaction that holds locks which readers wait for: they are let go at COMMIT without a wait for the disk, which
 * just after a large load may be busy for a second. Nothing is reported before `untilDurable`.
 */
export const unflushed = 'set local synchronous_commit = off'

/**
 * A commit that does wait, as long as the server is set up to, for the log and all of it that came before. When it
 * fails nothing is lost: the next attempt finds the ledger's row, or does not.
 */
export async function untilDurable(client: ClientBase): Promise<void> {
  await client.query(`select pg_logical_emit_message(true, 'sluice', 'published')`)
}
