import pg from 'pg'

/** Works on a connection that is closed however that ends: one left open would hide what went wrong behind its own end. */
export async function onDatabase<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export async function runOn(database: string, sql: string): Promise<void> {
  await onDatabase(database, (client) => client.query(sql))
}
