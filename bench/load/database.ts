import pg from 'pg'

/** Calls `work` with a connection and closes the connection afterwards, also after an error. */
export async function withConnection<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export async function executeSql(database: string, sql: string): Promise<void> {
  await withConnection(database, (client) => client.query(sql))
}

/** Turns autovacuum on or off for the whole server. */
export async function setAutovacuum(url: string, value: 'on' | 'off'): Promise<void> {
  await executeSql(url, `alter system set autovacuum = ${value}`)
  await executeSql(url, 'select pg_reload_conf()')
}
