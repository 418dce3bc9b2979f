import { Client } from 'pg'

/** Milliseconds. The last is counted here, for a server that took the statement and says nothing any more. */
const timeouts = {
  connectionTimeoutMillis: 5_000,
  lock_timeout: 10_000,
  statement_timeout: 30_000,
  query_timeout: 32_000,
}

/** A connection for preparing servers and warehouses. Nothing on it waits for ever; end it with `endAdmin`. */
export function adminClient(connectionString: string, changed: Partial<typeof timeouts> = {}): Client {
  const client = new Client({
    connectionString,
    application_name: 'sluice provisioning',
    keepAlive: true,
    ...timeouts,
    ...changed,
  })
  // Without a listener a connection that breaks between two statements would end the process.
  client.on('error', () => {})
  return client
}

/** Never throws, and does not wait for a server that is silent. */
export async function endAdmin(client: Client): Promise<void> {
  const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection
  const impatience = setTimeout(() => stream.destroy(), 1_000)
  await client.end().catch(() => {})
  clearTimeout(impatience)
}
