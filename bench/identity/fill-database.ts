import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { hashSecret } from '../../apps/identity/src/stored-secrets.ts'
import { hashPassword } from '../../apps/identity/src/sign-in/password/password-hashing.ts'
import { toSkeleton } from '../../apps/identity/src/sign-in/username.ts'
import { fillUsers } from './fill-users.ts'

export interface DataSize {
  clients: number
  /** Users of the first client. */
  users: number
}

/** The first client of a filled database, and its users who sign in. */
export interface FilledData {
  client: string
  people: string[]
  /** Names of users; the searches look for parts of them. */
  names: string[]
  /** An application that uses client credentials. */
  application: { id: string; secret: string }
}

export const password = 'heron-sifts-41-pebbles'

/** Large enough that no account signs in twice at the same time: the throttle delays quick sign-ins of one account. */
const people = 256

/** Fills a migrated database and updates the statistics of PostgreSQL. */
export async function fillDatabase(url: string, { clients, users }: DataSize): Promise<FilledData> {
  const database = new pg.Client({ connectionString: url })
  await database.connect()
  try {
    const client = randomUUID()
    await database.query(insertClients, [[client, ...Array.from({ length: clients - 1 }, () => randomUUID())]])
    const usernames = Array.from({ length: people }, (_, index) => `worker-${index}-${randomUUID().slice(0, 8)}`)
    await database.query(insertSignInUsers, [
      client,
      usernames,
      usernames.map(toSkeleton),
      await hashPassword(password),
    ])
    await database.query(insertGroups, [client])
    const application = { id: 'bench', secret: randomUUID() }
    await database.query(insertApplication, [client, application.id, hashSecret(application.secret)])
    if (clients > 1) await database.query(insertUsersOfOtherClients, [client])
    await fillUsers(url, [{ client, users }])
    await database.query(insertEarlierSignIns, [passwordSignIns])
    await database.query('vacuum (analyze)')
    const { rows } = await database.query<{ name: string }>(
      'select name from users where password_hash is null and client = $1 order by uid limit 200',
      [client],
    )
    return { client, people: usernames, names: rows.map(({ name }) => name), application }
  } finally {
    await database.end()
  }
}

const insertClients = `
  insert into clients (uid, name, code, billing_code, disabled, domain, manager_enabled, routes_enabled, pipelines_enabled, enterprise_enabled)
  select uid, 'Client ' || n, 'C' || n, 'B', false, 'REGULAR', true, true, true, false
  from unnest($1::uuid[]) with ordinality as given(uid, n)`

const insertSignInUsers = `
  insert into users (client, name, username, username_skeleton, email, password_hash, sso_auth, roles, status, start_page)
  select $1, 'Worker', username, skeleton, username || '@example.org', $4, false, '{ROLE_MANAGE_USER}', 'ACTIVE', 'DEFAULT'
  from unnest($2::text[], $3::text[]) as given(username, skeleton)`

/** Puts every user who signs in into two groups. */
const insertGroups = `
  with made as (
    insert into user_groups (client, name, code)
    select $1::uuid, 'Group ' || n, 'G' || n from generate_series(1, 2) as n returning id
  )
  insert into user_group_members select made.id, users.id from made, users where users.client = $1`

/** Earlier sign-ins of each user, one per day. */
const passwordSignIns = 20

/**
 * Adds the sessions, tokens and audit rows of earlier sign-ins. PostgreSQL plans sequential scans for tables that were
 * empty when it last analysed them, and keeps these plans.
 */
const insertEarlierSignIns = `
  with opened as (
    insert into sessions (user_id, client, created_at, last_used_at, expires_at, ended_at, end_reason, idle_hours, roles_at_issue, address, address_prefix, user_agent, amr)
    select id, client, at, at, at + interval '30 days', at + interval '8 hours', 'SIGNED_OUT', 168, roles, '127.0.0.1', '127.0.0.0/24', '', '{pwd}'
    from users, generate_series(1, $1::integer) as n, lateral (select now() - n * interval '1 day') as past(at)
    where password_hash is not null returning *
  ), inserted_tokens as (
    insert into refresh_tokens (token_hash, session_id, created_at, expires_at)
    select sha256(uid::text::bytea), id, created_at, expires_at from opened
  )
  insert into audit (at, operation, actor, client, object, request_id, address, details)
  select o.created_at, 'auth.login', u.uid, o.client, u.uid, o.uid, o.address, '{"outcome": "signed in"}'
  from opened o join users u on u.id = o.user_id`

const insertApplication = `
  insert into sso_client_configs (client, sso_client_id, sso_client_id_skeleton, secret_hash, client_name, redirect_uris, scopes, grant_types)
  values ($1, $2, $2, $3, 'Bench', '{}', '{ROLE_MANAGE_USER}', '{client_credentials}')`

/** Adds two users to every other client. */
const insertUsersOfOtherClients = `
  insert into users (client, name, username, username_skeleton, email, sso_auth, status, start_page)
  select c.uid, 'Neighbour', 'n-' || c.id || '-' || n, 'n-' || c.id || '-' || n, 'n@example.org', false, 'ACTIVE', 'DEFAULT'
  from clients c, generate_series(1, 2) as n where c.uid <> $1`
