import { randomBytes } from 'node:crypto'
import { plain } from '../../src/engine/warehouses/dialects/sql.ts'
import { type ClientAccess, tsqlAccess } from '../../src/engine/warehouses/tsql/access.ts'
import { connected } from '../../src/engine/warehouses/tsql/connection.ts'
import { bracketed } from '../../src/engine/warehouses/tsql/names.ts'
import { send } from '../../src/engine/warehouses/tsql/requests.ts'

const url = process.env['SQLSERVER_TEST_URL']

/** Why no SQL Server is asked here; undefined where one is. */
export const sqlServerMissing: string | undefined = url
  ? undefined
  : 'runs with the URL of a server’s administrator in SQLSERVER_TEST_URL, as in mssql://sa:password@host:1433?encrypt=true'

export interface SqlServerUnderTest extends AsyncDisposable {
  /** A client that nobody else has. */
  client(): ClientAccess
}

/** Clients that are gone, with all that they had, when this is disposed of. */
export function sqlServer(): SqlServerUnderTest {
  const clients: ClientAccess[] = []
  return {
    client() {
      const key = randomBytes(10).toString('hex')
      const access = tsqlAccess(url!, { key, loadPassword: `load-${key}`, readPassword: `read-${key}` })
      clients.push(access)
      return access
    },
    async [Symbol.asyncDispose]() {
      for (const { master, ownDatabase, database, logins } of clients) {
        const connection = await connected(master)
        const drop = (text: string) => send(connection, plain(text), {}).done.catch(() => {})
        if (ownDatabase) await drop(`drop database if exists ${bracketed(database)}`)
        for (const { user } of [logins.load, logins.read]) await drop(`drop login ${bracketed(user)}`)
        connection.close()
      }
    },
  }
}
