import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { RemoteProblem, serviceClient } from '@sluice/client'
import { identityOperations, type Client as Organisation, type Role } from '@sluice/contracts'
import { sharedIdentity } from './shared-identity/shared-identity-service.ts'

export interface Person {
  id: string
  username: string
  client: string
  token: string
}

export type Identity = Awaited<ReturnType<typeof joinIdentity>>

const { auth, clients, userGroups, users } = identityOperations

/** The identity service that all test files share, and functions that create users in new clients of this test file. */
export async function joinIdentity() {
  const { url, port, serviceSecret, adminPassword: password, log } = sharedIdentity.find()
  await answers(url, log)

  const anonymous = serviceClient({ baseUrl: url, token: () => undefined, timeout: 20_000 })
  const signIn = async (username: string): Promise<string> => {
    try {
      const answer = await anonymous.call(auth.login, { body: { username, password } })
      if ('secondFactor' in answer) throw new Error(`${username} has a second factor.`)
      return answer.accessToken
    } catch (error) {
      // Test files that start together sign in as the same user. Attempts that run count as failures until they succeed.
      if (!(error instanceof RemoteProblem && error.status === 429)) throw error
      await sleep((error.retryAfter ?? 1) * 1_000)
      return signIn(username)
    }
  }
  const adminToken = await signIn('admin')
  const admin = serviceClient({ baseUrl: url, token: () => adminToken, timeout: 20_000 })

  return {
    url,
    port,
    adminToken,
    serviceSecret,
    /** Everybody's. */
    password,
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

    /** Deletes a client with all of its users. */
    async deleteClient(client: Organisation, people: Person[]): Promise<void> {
      for (const { id } of people) await admin.call(users.delete, { params: { uid: id } })
      await this.changeClient(client, { disabled: true })
      await admin.call(clients.delete, { params: { uid: client.id } })
    },

    /** Somebody signed in, of a client, with these roles. */
    async person(client: string, auths: Role[]): Promise<Person> {
      const username = `u${randomBytes(6).toString('hex')}`
      const about = { name: 'Grace', username, email: `${username}@example.org`, ssoAuth: false, password }
      const { id } = await admin.call(users.create, {
        body: { ...about, startPage: 'DEFAULT', auths, client: { id: client } },
      })
      return { id, username, client, token: await signIn(username) }
    },

    /** A user group with these members. */
    group(client: string, members: Person[]): Promise<string> {
      return this.namedGroup(client, randomBytes(6).toString('hex'), members)
    },

    async namedGroup(client: string, name: string, members: Person[]): Promise<string> {
      const { id } = await admin.call(userGroups.create, { body: { name, code: name, client: { id: client } } })
      for (const member of members) await admin.call(userGroups.addMember, { params: { uid: id, userUid: member.id } })
      return id
    },

    async deactivate({ id }: Person): Promise<void> {
      await admin.call(users.setStatus, { params: { uid: id }, body: { status: 'INACTIVE' } })
    },
  }
}

async function answers(url: string, log: string): Promise<void> {
  for (const until = Date.now() + 120_000; ; await sleep(50)) {
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return
    if (Date.now() > until) throw new Error(`The identity service does not answer:\n${readFileSync(log, 'utf8')}`)
  }
}
