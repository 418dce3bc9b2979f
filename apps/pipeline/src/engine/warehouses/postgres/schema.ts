import { type ClientBase, escapeIdentifier, type Pool } from 'pg'
import { withClient } from './access.ts'

/** Two callers made the same schema, or touched the same catalogue row, at the same moment. */
const collisions = new Set(['23505', '42P06', 'XX000'])

/** What `load` makes in the schema, `read` may read; what is in the hidden schema it may not. Any number of times. */
export async function ensureSchema(pool: Pool, schema: string, read: string): Promise<void> {
  const name = escapeIdentifier(schema)
  const reader = escapeIdentifier(read)
  const statements = [
    'begin',
    `create schema if not exists ${name}`,
    `grant usage on schema ${name} to ${reader}`,
    `alter default privileges in schema ${name} grant select on tables to ${reader}`,
    // A function that a user's SQL makes with SECURITY DEFINER must not lend `load`'s rights to `read`.
    'alter default privileges revoke execute on functions from public',
    'commit',
  ]
  for (let tries = 1; ; tries += 1) {
    try {
      await withClient(pool, undefined, (client) => client.query(statements.join(';')))
      return
    } catch (error) {
      if (tries === 5 || !collisions.has((error as { code?: string }).code ?? '')) throw error
    }
  }
}

/** Those that `load` made, but for our hidden ones. */
export async function listSchemas(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace
     where nspowner = current_user::regrole and nspname <> 'sluice' and nspname not like 'sluice\\_%' and nspname not like 'pg\\_%'
     order by nspname`,
  )
  return rows.map(({ name }) => name)
}
