import { randomBytes, randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import { sql, type Kysely } from 'kysely'
import { pino } from 'pino'
import supertest from 'supertest'
import type { ClientBody, Role, TokenPair, UserBody } from '@sluice/contracts'
import { connect, keyRing } from '@sluice/database'
import { createMetrics } from '@sluice/process'
import { testDatabase } from '@sluice/testing'
import { buildApp } from '../src/app.ts'
import { readConfig, type Config } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { migrationsFolder } from '../src/migrations.ts'
import { createAuditTally } from '../src/openid-provider/audit-event-counter.ts'
import { toSkeleton } from '../src/sign-in/username.ts'

export const goodPassword = 'heron-sifts-41-pebbles'
const keys = `test:${randomBytes(32).toString('base64')}`
const serviceSecret = randomBytes(24).toString('hex')
/**
 * The hash of `goodPassword` with low cost (8 KiB, one pass). It takes a hundredth of the time of a production hash.
 */
const cheapHash = '$argon2id$v=19$m=8,t=1,p=1$YSBzYWx0IGZvciB0ZXN0cw$oUyVkp7n6H1l9z2bbhrrPtopre8YOx441uujHXprcD4'

export type Service = Awaited<ReturnType<typeof startService>>

/** A valid body for a client (an organisation), with a unique code. */
export function clientBody(changes: Partial<ClientBody> = {}): ClientBody {
  const code = randomBytes(6).toString('hex')
  return {
    name: `Client ${code}`,
    code,
    billingCode: 'B-1',
    primaryContact: { name: 'Ada', email: 'ada@example.org' },
    technicalContact: {},
    billingContact: {},
    disabled: false,
    domain: 'REGULAR',
    managerEnabled: true,
    routesEnabled: true,
    pipelinesEnabled: true,
    enterpriseEnabled: false,
    ...changes,
  }
}

/** A valid body for a user, with a unique username. */
export function userBody(changes: Partial<UserBody> = {}): UserBody {
  const username = `u${randomBytes(6).toString('hex')}`
  return { name: 'Grace', username, email: `${username}@example.org`, ssoAuth: false, startPage: 'DEFAULT', ...changes }
}

/** Starts the whole service with its own database. Also returns functions that create clients, users and sessions. */
export async function startService(changes: Partial<Config> = {}, dbOf = (db: Kysely<DB>) => db) {
  const database = await testDatabase({ migrations: migrationsFolder })
  const { db } = connect<DB>(database.url, { name: 'identity-test' })
  const lines: string[] = []
  const config: Config = {
    ...readConfig({ IDENTITY_DATABASE_URL: database.url, SECRET_KEYS: keys, SERVICE_SECRET: serviceSecret }),
    TRUSTED_PROXIES: 1,
    // Lets tests create users in one step. Tests of the default, false, are in invitations.test.ts.
    ADMIN_SETS_PASSWORDS: true,
    ...changes,
  }
  const logger = pino({}, { write: (line: string) => void lines.push(line) })
  const tally = createAuditTally(db, logger)
  const app = buildApp({
    db: dbOf(db),
    tally,
    config: { ...config, SECRET_KEYS: keyRing(keys) },
    logger,
    metrics: createMetrics('identity'),
  })
  const server = await new Promise<Server>((resolve) => {
    const listening: Server = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  const http = supertest(server)

  const signIn = async (username: string, password = goodPassword): Promise<TokenPair> => {
    const { body } = await http.post('/api/v1/auth/login').send({ username, password }).expect(200)
    return body as TokenPair
  }

  return {
    db,
    config,
    http,
    /** The log lines so far. */
    lines,
    /** Counted events of applications. `flush` writes them to the audit log. */
    tally,
    signIn,
    withToken: (token: string) => withToken(http, token),
    service: () => withToken(http, serviceSecret),
    client: (body: Partial<ClientBody> = {}) => insertClient(db, clientBody(body)),
    user: (about: NewUser) => insertUser(db, about),
    /** Creates a user with these roles and signs in. The user belongs to a new client by default. */
    async as(roles: readonly Role[], client?: string) {
      const user = await insertUser(db, { roles, client: client ?? (await insertClient(db, clientBody())) })
      const tokens = await signIn(user.username)
      return { ...user, tokens, ...withToken(http, tokens.accessToken) }
    },
    async stop() {
      await new Promise((resolve) => server.close(resolve))
      await db.destroy()
      await database.drop()
    },
  }
}

function withToken(http: ReturnType<typeof supertest>, token: string) {
  const send = (method: 'get' | 'post' | 'put' | 'patch' | 'delete') => (path: string) =>
    http[method](`/api/v1${path}`).set('authorization', `Bearer ${token}`)
  return { get: send('get'), post: send('post'), put: send('put'), patch: send('patch'), delete: send('delete') }
}

async function insertClient(db: Kysely<DB>, body: ClientBody): Promise<string> {
  const uid = randomUUID()
  await sql`
    insert into clients (uid, name, code, billing_code, disabled, domain, manager_enabled, routes_enabled, pipelines_enabled, enterprise_enabled)
    values (${uid}, ${body.name}, ${body.code}, ${body.billingCode}, ${body.disabled}, ${body.domain},
      ${body.managerEnabled}, ${body.routesEnabled}, ${body.pipelinesEnabled}, ${body.enterpriseEnabled})`.execute(db)
  return uid
}

export interface NewUser {
  client: string
  roles?: readonly Role[]
  status?: 'INVITATION' | 'ACTIVE' | 'INACTIVE'
  ssoAuth?: boolean
  hasPassword?: boolean
  /** The stored hash of `goodPassword`; by default a cheap one. */
  passwordHash?: string
  username?: string
  startPage?: string
  analytics?: boolean
}

/**
 * Inserts a user with a creation time of one minute ago: a link that is created in the same millisecond as its user
 * does not work (sign-in/tokens/one-time-links.ts).
 */
async function insertUser(db: Kysely<DB>, about: NewUser) {
  const { client, roles = [], status = 'ACTIVE', ssoAuth = false, startPage = 'DEFAULT', analytics = false } = about
  const { username = `u${randomBytes(6).toString('hex')}`, passwordHash = cheapHash } = about
  const { hasPassword = !ssoAuth && status !== 'INVITATION' } = about
  const uid = randomUUID()
  await sql`
    insert into users (uid, client, name, username, username_skeleton, email, password_hash, sso_auth, roles, status, start_page, analytics_platform_enabled, token_valid_after)
    values (${uid}, ${client}, 'Test', ${username}, ${toSkeleton(username)}, 'test@example.org', ${hasPassword ? passwordHash : null},
      ${ssoAuth}, ${[...roles]}, ${status}, ${startPage}, ${analytics}, now() - interval '1 minute')`.execute(db)
  return { uid, username, client }
}

/** Forwards every access to the database that `current` returns at that time. */
export const switchableDatabase = (current: () => Kysely<DB>): Kysely<DB> =>
  new Proxy(current(), {
    get(_target, name) {
      const value: unknown = Reflect.get(current(), name)
      return typeof value === 'function' ? value.bind(current()) : value
    },
  })

/** The audit entries of an object, oldest first. */
export async function auditOf(db: Kysely<DB>, object: string) {
  const { rows } = await sql<{
    operation: string
    actor: string | null
    client: string | null
    details: Record<string, any>
  }>`
    select operation, actor, client, details from audit where object = ${object} order by id`.execute(db)
  return rows
}
