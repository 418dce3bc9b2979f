import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { identityOperations, serviceClient, type Client as Organisation, type Role } from '@sluice/contracts'
import { Pool } from 'pg'
import { sharedIdentity } from './shared-identity/shared.ts'

export interface Person {
  id: string
  username: string
  client: string
  token: string
}

export type Identity = Awaited<ReturnType<typeof joinIdentity>>

const { auth, clients, users } = identityOperations
/** The identity service that is there for all test files, and short ways to whoever this one needs: in clients of its own. */
export async function joinIdentity() {
  const { url, port, databaseUrl, serviceSecret, adminPassword: password, log } = sharedIdentity.find()
  await answers(url, log)
  const sql = new Pool({ connectionString: databaseUrl, max: 2 })
  sql.on('error', () => {})

  const anonymous = serviceClient({ baseUrl: url, token: () => undefined, timeout: 20_000 })
  const signIn = async (username: string) => {
    const answer = await anonymous.call(auth.login, { body: { username, password } })
    if ('secondFactor' in answer) throw new Error(`${username} has a second factor.`)
    return answer.accessToken
  }
  const adminToken = await signIn('admin')
  const admin = serviceClient({ baseUrl: url, token: () => adminToken, timeout: 20_000 })

  return {
    url,
    port,
    adminToken,
    serviceSecret,
    /** The lines of its log, of all test files. */
    log: () => readFileSync(log, 'utf8'),

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

    leave: () => sql.end(),
  }
}

async function answers(url: string, log: string): Promise<void> {
  for (const until = Date.now() + 60_000; ; await sleep(50)) {
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return
    if (Date.now() > until) throw new Error(`The identity service does not answer:\n${readFileSync(log, 'utf8')}`)
  }
}
