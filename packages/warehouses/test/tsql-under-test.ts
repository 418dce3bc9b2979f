import { randomBytes } from 'node:crypto'
import { plainSql } from '../src/sql-warehouse/sql-statement.ts'
import type { ClientAccess, RoleCredentials, DatabaseLogin } from '../src/tsql/tsql-settings.ts'
import { openConnection } from '../src/tsql/session/connect.ts'
import { quoteIdentifier, formatLiteral } from '../src/tsql/sql-identifiers.ts'
import { sendRequest } from '../src/tsql/session/send-request.ts'

export interface TsqlUnderTest extends AsyncDisposable {
  /** A client that no other test uses. */
  client(): ClientAccess
}

/** Clients of a server that speaks T-SQL; they are gone, with all that they had, when this is disposed of. */
export function tsqlUnderTest(createAccess: (credentials: RoleCredentials) => ClientAccess): TsqlUnderTest {
  const clients: ClientAccess[] = []
  return {
    client() {
      const key = randomBytes(10).toString('hex')
      const access = createAccess({ key, loadPassword: `load-${key}`, readPassword: `read-${key}` })
      clients.push(access)
      return access
    },
    async [Symbol.asyncDispose]() {
      for (const access of clients) {
        if (!access.ownDatabase) await dropSchemas(access)
        await on(access.master, async (drop) => {
          if (access.ownDatabase) await drop(`drop database if exists ${quoteIdentifier(access.database)}`)
          for (const { user } of [access.logins.load, access.logins.read])
            await drop(`drop login ${quoteIdentifier(user)}`)
        })
      }
    },
  }
}

async function dropSchemas({ key, logins }: ClientAccess): Promise<void> {
  const own = `(s.name = ${formatLiteral(`c_${key}`)} or left(s.name, ${key.length + 3}) = ${formatLiteral(`c_${key}_`)})`
  await on(logins.service, async (run) => {
    const drops = [
      ...(await run(`select s.name as a, o.name as b, case o.type when 'V' then 'view' else 'table' end as kind
        from sys.objects o join sys.schemas s on s.schema_id = o.schema_id where o.type in ('U', 'V') and ${own} order by o.type desc`)),
      ...(await run(`select s.name as a, null as b, 'schema' as kind from sys.schemas s where ${own}`)),
      ...(await run(`select p.name as a, null as b, 'user' as kind from sys.database_principals p
        where left(p.name, ${key.length + 3}) = ${formatLiteral(`c_${key}_`)} and p.type = 'S'`)),
    ]
    for (const [first, second, kind] of drops)
      await run(`drop ${kind} ${[first, second].flatMap((name) => (name ? [quoteIdentifier(name)] : [])).join('.')}`)
  })
}

type Run = (text: string) => Promise<(string | null)[][]>

/** What fails is left there. */
async function on(login: DatabaseLogin, work: (run: Run) => Promise<void>): Promise<void> {
  const connection = await openConnection(login)
  await work(async (text) => {
    const rows: (string | null)[][] = []
    const row = (cells: readonly { value: unknown }[]) =>
      void rows.push(cells.map(({ value }) => (typeof value === 'string' ? value : null)))
    await sendRequest(connection, plainSql(text), {}, { row }).completion.catch(() => {})
    return rows
  })
  connection.close()
}
