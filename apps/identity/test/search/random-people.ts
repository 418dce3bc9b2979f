import { randomUUID } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { DB } from '../../src/database.ts'

/** A user of the in-memory model. */
export interface Person {
  id: string
  client: string
  name: string
  username: string
  email: string
  status: string
  startPage: string
  ssoAuth: boolean
  ssoId: string | null
  auths: string[]
  analyticsPlatformEnabled: boolean
  created: Date
  /** The codes of the groups. */
  userGroups: string[]
}

export type Random = () => number

/** Pseudo-random numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)]!

export const groupCodes = ['RED', 'GREEN', 'BLUE']
const pieces = ['an', 'na', 'Be', 'Ost', '%', '_', '\\', 'ski', ' ', 'é', 'Ж', "'", 'x']
const randomName = (random: Random) =>
  `A${Array.from({ length: 1 + Math.floor(random() * 5) }, () => pick(random, pieces)).join('')}`

export function randomPerson(random: Random, client: string): Person {
  const id = randomUUID()
  return {
    id,
    client,
    name: randomName(random),
    username: `p-${id.slice(0, 13)}`,
    email: `${pick(random, ['ana', 'bo', 'cy'])}@${pick(random, ['example.org', 'mail.example'])}`,
    status: pick(random, ['ACTIVE', 'ACTIVE', 'INACTIVE', 'INVITATION']),
    startPage: pick(random, ['DEFAULT', 'MANAGER', 'INTEGRATION']),
    ssoAuth: random() < 0.3,
    ssoId: random() < 0.3 ? `sso-${id.slice(0, 8)}` : null,
    auths: ['ROLE_SEE_VIEW', 'ROLE_GET_FILE', 'ROLE_SEE_ROUTE'].filter(() => random() < 0.4),
    analyticsPlatformEnabled: random() < 0.5,
    created: new Date(Date.UTC(2026, 0, 1 + Math.floor(random() * 4), 0, 0, 0, Math.floor(random() * 2))),
    userGroups: groupCodes.filter(() => random() < 0.3),
  }
}

/** Inserts or updates users and their group memberships. */
export async function store(db: Kysely<DB>, people: readonly Person[]): Promise<void> {
  await sql`
    insert into users (uid, client, name, username, username_skeleton, email, status, start_page, sso_auth, sso_id, roles,
      analytics_platform_enabled, created_at)
    select id::uuid, client::uuid, name, username, username, email, status, "startPage", "ssoAuth", "ssoId",
      array(select jsonb_array_elements_text(auths)), "analyticsPlatformEnabled", created
    from jsonb_to_recordset(${JSON.stringify(people)}) as p(id text, client text, name text, username text, email text,
      status text, "startPage" text, "ssoAuth" boolean, "ssoId" text, auths jsonb, "analyticsPlatformEnabled" boolean,
      created timestamptz)
    on conflict on constraint users_uid_key do update set name = excluded.name, email = excluded.email,
      status = excluded.status, start_page = excluded.start_page, sso_auth = excluded.sso_auth, sso_id = excluded.sso_id,
      roles = excluded.roles, analytics_platform_enabled = excluded.analytics_platform_enabled,
      created_at = excluded.created_at`.execute(db)
  await sql`
    delete from user_group_members m using users u
    where u.id = m.user_id and u.uid = any(${people.map(({ id }) => id)}::uuid[])`.execute(db)
  await sql`
    insert into user_group_members (user_id, user_group_id)
    select u.id, g.id from jsonb_to_recordset(${JSON.stringify(people)}) as p(id text, "userGroups" jsonb)
    join users u on u.uid = p.id::uuid join user_groups g on g.client = u.client and p."userGroups" ? g.code`.execute(
    db,
  )
}

export const remove = (db: Kysely<DB>, people: readonly Person[]) =>
  sql`delete from users where uid = any(${people.map(({ id }) => id)}::uuid[])`.execute(db)
