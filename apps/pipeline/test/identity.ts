import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { identityOperations, serviceClient, type Client as Organisation, type Role } from '@sluice/contracts'
import { testDatabase } from '@sluice/testing'
import { Pool } from 'pg'
import { freePort, ready, runProgram, startProgram } from './program.ts'

export interface Person {
  id: string
  username: string
  client: string
  token: string
}

export type Identity = Awaited<ReturnType<typeof startIdentity>>

const { auth, clients, users } = identityOperations
const password = 'heron-sifts-41-pebbles'

/** The real identity service in a process of its own, on a database of its own, and short ways to whoever a test needs. */
export async function startIdentity(serviceSecret: string) {
  const database = await testDatabase({ migrations: join(import.meta.dirname, '../../identity/migrations') })
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const environment = {
    IDENTITY_DATABASE_URL: database.url,
    IDENTITY_PORT: String(port),
    IDENTITY_PUBLIC_URL: url,
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    SERVICE_SECRET: serviceSecret,
    SLUICE_ADMIN_PASSWORD: password,
    ACCESS_TOKEN_SECONDS: '900',
  }
  const program = startProgram('identity/bin/serve.ts', environment)
  await Promise.all([ready(program, url), runProgram('identity/bin/create-first-admin.ts', environment)])
  const sql = new Pool({ connectionString: database.url, max: 2 })
  sql.on('error', () => {})

  const anonymous = serviceClient({ baseUrl: url, token: () => undefined, timeout: 20_000 })
  const signIn = async (username: string) =>
    (await anonymous.call(auth.login, { body: { username, password } })).accessToken
  const adminToken = await signIn('admin')
  const admin = serviceClient({ baseUrl: url, token: () => adminToken, timeout: 20_000 })

  return {
    url,
    port,
    adminToken,
    /** The lines of its log. */
    log: () => program.output(),

    client(changes: Partial<Organisation> = {}): Promise<Organisation> {
      const code = randomBytes(6).toString('hex')
      const contact = { primaryContact: {}, technicalContact: {}, billingContact: {} }
      const switches = { managerEnabled: true, routesEnabled: true, pipelinesEnabled: true, enterpriseEnabled: false }
      const named = { name: `Client ${code}`, code, billingCode: 'B-1', domain: 'REGULAR' as const, disabled: false }
      return admin.call(clients.create, { body: { ...named, ...contact, ...switches, ...changes } })
    },

    changeClient: (client: Organisation, changes: Partial<Organisation>) =>
      admin.call(clients.update, { params: { uid: client.id }, body: { ...client, ...changes } }),

    /** Somebody signed in, of a client, with these roles. */
    async person(client: string, auths: Role[]): Promise<Person> {
      const username = `u${randomBytes(6).toString('hex')}`
      const about = { name: 'Grace', username, email: `${username}@example.org`, ssoAuth: false, password }
      const { id } = await admin.call(users.create, {
        body: { ...about, startPage: 'DEFAULT', auths, client: { id: client } },
      })
      return { id, username, client, token: await signIn(username) }
    },

    /** A user group. There is no operation for it yet, so straight into the database. */
    async group(client: string, members: Person[]): Promise<string> {
      const { rows } = await sql.query(
        `insert into user_groups (client, name, code) values ($1, $2, $2) returning id, uid`,
        [client, randomBytes(6).toString('hex')],
      )
      await sql.query(`insert into user_group_members select $1, id from users where uid = any($2)`, [
        rows[0].id,
        members.map(({ id }) => id),
      ])
      return rows[0].uid
    },

    /** Likewise. */
    async deactivate({ id }: Person): Promise<void> {
      await sql.query(`update users set status = 'INACTIVE' where uid = $1`, [id])
    },

    async stop(): Promise<void> {
      await program.stop()
      await sql.end()
      await database.drop()
    },
  }
}
