import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { fillUsers } from '../../../../bench/identity/fill-users.ts'
import type { Role, SearchRequest } from '@sluice/contracts'
import { buildSearchPlan } from '@sluice/records'
import { testDatabase, type TestDatabase } from '@sluice/testing'
import type { IdentityRequestContext } from '../../src/api/operation-context.ts'
import { clientRecords } from '../../src/api/clients/records.ts'
import { userRecords } from '../../src/api/users/records.ts'
import type { DB } from '../../src/database.ts'
import { migrationsFolder } from '../../src/migrations.ts'

const [large, small] = [randomUUID(), randomUUID()]
const queries: CompiledQuery[] = []
let database: TestDatabase
let db: Kysely<DB>
beforeAll(async () => {
  database = await testDatabase({ migrations: migrationsFolder })
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }), log: ({ query }) => void queries.push(query) })
  await sql`
    insert into clients (uid, name, code, billing_code, disabled, domain, manager_enabled, routes_enabled, pipelines_enabled, enterprise_enabled)
    select coalesce((array[${large}, ${small}]::uuid[])[n], gen_random_uuid()), 'Client ' || n, 'C' || n, 'B', false, 'REGULAR', true, true, true, true
    from generate_series(1, 10000) as n`.execute(db)
  await fillUsers(database.url, [
    { client: large, users: 100_000 },
    { client: small, users: 100 },
  ])
  await sql`analyze clients`.execute(db)
})
afterAll(async () => {
  await db?.destroy()
  await database?.drop()
})

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  Alias?: string
  'Index Name'?: string
  'Scan Direction'?: string
  'Index Cond'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  'Actual Loops': number
  Plans?: Plan[]
}

/** Runs a search, and returns the query plan of the statement that finds the page and its total. */
async function planOf(
  request: Partial<SearchRequest>,
  by: { client?: string; roles?: Role[]; of?: typeof userRecords } = {},
) {
  const { client = large, roles = ['ROLE_MANAGE_USER'], of = userRecords } = by
  const caller = {
    kind: 'session',
    inPerson: true,
    uid: randomUUID(),
    username: '',
    client,
    roles,
    userGroups: [],
    session: '',
  } as const
  queries.length = 0
  const { headers } = await of.search(
    db,
    { db, caller, request: { locales: [] } } as unknown as IdentityRequestContext,
    {
      paging: {},
      ...request,
    },
  )
  const { sql: text, parameters } = queries[0]!
  const { rows } = await db.executeQuery<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    CompiledQuery.raw(`explain (analyze, timing off, format json) ${text}`, [...parameters]),
  )
  const nodes = flat(rows[0]!['QUERY PLAN'][0].Plan)
  const users = nodes.filter((node) => node['Relation Name'] === 'users' || node['Index Name']?.startsWith('users_'))
  return {
    headers,
    scans: nodes.filter((node) => node['Node Type'].includes('Seq Scan')).map((node) => node['Relation Name']),
    indexes: [...new Set(users.map((node) => node['Index Name']).filter(Boolean))],
    nodes,
    /** The number of `users` rows that were read for the page and the total. */
    read: users
      .filter((node) => node['Node Type'] !== 'Bitmap Index Scan')
      .reduce(
        (sum, node) =>
          sum +
          node['Actual Loops'] *
            (node['Actual Rows'] +
              (node['Rows Removed by Filter'] ?? 0) +
              (node['Rows Removed by Index Recheck'] ?? 0)),
        0,
      ),
  }
}

/** The cursor after a row with these sort keys, without reading the pages before it. */
const cursorOf = (order: SearchRequest['order'], keys: string[]) =>
  buildSearchPlan(
    { order, paging: {} },
    { name: '/users ', properties: userRecords.definition.properties, idColumn: 'r.uid', defaultOrder: ['name:iasc'] },
  ).cursorAfter(keys)!

const flat = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flat)]

const readSomeUser = async () =>
  (
    await sql<{ uid: string; name: string; username: string; email: string; created: Date }>`
    select uid, name, username, email, created_at as created from users where client = ${large} order by uid limit 1 offset 4711`.execute(
      db,
    )
  ).rows[0]!

describe('user search in an organisation with 100,000 users', () => {
  it.each<[string, SearchRequest['order']]>([
    ['users_client_name', undefined],
    ['users_client_name', ['name:idesc']],
    ['users_client_name_exact', ['name']],
    ['users_client_username', ['username:desc']],
    ['users_client_email', ['email']],
    ['users_client_created', ['created:desc']],
    ['users_client_updated', ['lastUpdated']],
    ['users_client_status', ['status:desc']],
    ['users_client_uid', ['id:desc']],
  ])('reads a page through the index %s in the order %j without counting', async (index, order) => {
    const { scans, indexes, read, nodes, headers } = await planOf({ order })
    expect([scans, indexes]).toEqual([[], [index]])
    expect(read).toBeLessThan(120)
    expect(nodes.some((node) => node['Node Type'].includes('Sort'))).toBe(false)
    expect(headers['X-Total-Count']).toBe('100000')
  })

  it.each<[string, SearchRequest['order'], string[]]>([
    ['users_client_name', undefined, ['zoë zzz', 'ffffffff-0000-4000-8000-000000000000']],
    ['users_client_created', ['created:desc'], ['2023-01-02T00:00:00', 'ffffffff-0000-4000-8000-000000000000']],
  ])('reads as few rows for the last page as for the first through %s', async (index, order, keys) => {
    // The made-up cursor must have as many keys as a real one.
    const { headers } = await planOf({ order })
    const [payload = ''] = headers['X-Next-Cursor']!.split('.')
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toHaveLength(1 + keys.length)
    const { scans, indexes, read, nodes } = await planOf({ order, paging: { after: cursorOf(order, keys) } })
    expect([scans, indexes]).toEqual([[], [index]])
    expect(read).toBeLessThan(120)
    expect(nodes.find((node) => node['Index Name'] === index)!['Index Cond']).toMatch(/ROW\(.+\) [<>] ROW\(/)
  })

  it('finds rare text in any field through an index, and counts the matches from the same read', async () => {
    const { uid, username, email, name } = await readSomeUser()
    const requests: Partial<SearchRequest>[] = [
      { query: username.slice(-9) },
      { query: uid.slice(3, 20) },
      { query: email.toUpperCase() },
      { filter: [`username:ilike:${username.slice(2)}`] },
      { filter: [`email:eq:${email}`] },
      { filter: [`email:ieq:${email.toUpperCase()}`], rootJunction: 'OR' },
      { filter: [`username:endsWith:${username.slice(3)}`, 'status:!eq:INACTIVE'] },
      { filter: [`username:token:${username.replace('.', ' ')}`, `name:like:${name}`] },
    ]
    for (const request of requests) {
      const { scans, indexes, read, headers } = await planOf(request)
      expect([request, scans]).toEqual([request, []])
      expect(indexes).toContainEqual(expect.stringMatching(/^users_(search|client_email)$/))
      expect(read).toBeLessThan(500)
      expect(headers['X-Total-Count']).toMatch(/^[01]$/)
    }
  })

  it('splits long text into pieces for the index lookup, and matches only the whole text', async () => {
    const { username } = await readSomeUser()
    const [piece, mixedUp] = [username.slice(1), [...username.slice(1).matchAll(/[a-z]{3}|\d{3}/g)].join('.')]
    for (const [query, total] of [
      [piece, '1'],
      [mixedUp, '0'],
    ] as const) {
      const { nodes, headers } = await planOf({ query })
      const lookedUp = nodes.find((node) => node['Index Name'] === 'users_search')?.['Index Cond']
      expect([query, lookedUp]).toEqual([query, expect.stringMatching(/~~ '%[^%']{3,5}(%[^%']{3,5})+%'/)])
      expect([query, headers['X-Total-Count']]).toEqual([query, total])
    }
  })

  it('finds members through their group, for small and empty groups', async () => {
    await sql`
      with made as (insert into user_groups (client, name, code)
        select client, code, code from unnest(${[large, small]}::uuid[]) as client, unnest('{ALL,FEW}'::text[]) as code returning id, client, code)
      insert into user_group_members
      select made.id, u.id from made join users u on u.client = made.client where made.code = 'ALL' or u.id % 10000 = 0`.execute(
      db,
    )
    await sql`analyze user_groups, user_group_members`.execute(db)
    for (const [code, total] of [
      ['FEW', '10'],
      ['NONE', '0'],
      ['few', '0'],
    ]) {
      const { scans, read, headers } = await planOf({ filter: [`userGroups.code:eq:${code}`, 'name:!null'] })
      expect([scans.includes('users'), headers['X-Total-Count']]).toEqual([false, total])
      expect(read).toBeLessThan(50)
    }
    expect((await planOf({ filter: ['userGroups.name:eq:ALL'] })).headers['X-Total-Count']).toBe('100000')
    expect((await planOf({ filter: ['userGroups.name:eq:ALL'] }, { client: small })).read).toBeLessThan(450)
  })

  it('looks up the author of users once, not once per user', async () => {
    const { username } = await readSomeUser()
    for (const condition of [`eq:${username}`, `ilike:${username}`, `!eq:${username}`]) {
      const { nodes } = await planOf({ filter: [`createdBy:${condition}`] })
      const authors = nodes.filter((node) => node.Alias === 'authors' || node['Index Name'] === 'users_search')
      expect(authors.length).toBeGreaterThan(0)
      expect([condition, authors.every((node) => node['Actual Loops'] <= 1)]).toEqual([condition, true])
    }
  })

  it('reads users with a rare status in name order without counting', async () => {
    const { scans, indexes, read } = await planOf({ filter: ['status:eq:INVITATION'] })
    expect([scans, indexes]).toEqual([[], ['users_client_not_active']])
    expect(read).toBeLessThan(120)
  })

  it('returns the total of combined status and switch filters without counting', async () => {
    const filter = ['status:in:[ACTIVE,INACTIVE]', 'startPage:!eq:MANAGER', 'ssoAuth:eq:false']
    const { scans, read, headers } = await planOf({ filter })
    expect(scans).toEqual([])
    expect(read).toBeLessThan(1000)
    const { rows } = await sql<{ n: string }>`
      select count(*)::text as n from users where client = ${large} and status in ('ACTIVE', 'INACTIVE') and start_page <> 'MANAGER' and not sso_auth`.execute(
      db,
    )
    expect(headers['X-Total-Count']).toBe(rows[0]!.n)
  })

  it('counts matches of common text once, until a user changes', async () => {
    const request = { query: 'berg' }
    const first = await planOf(request)
    expect(Number(first.headers['X-Total-Count'])).toBeGreaterThan(1000)
    const again = await planOf(request)
    expect(again.read).toBeLessThan(5000)
    expect(again.headers['X-Total-Count']).toBe(first.headers['X-Total-Count'])
    const other = sql`select uid from users where client = ${large} and search_text not like '%berg%' limit 1`
    await sql`update users set name = 'Ulla Bergman' where uid = (${other})`.execute(db)
    const after = await planOf(request)
    expect(queries.length).toBeGreaterThan(1)
    expect(Number(after.headers['X-Total-Count']) - Number(first.headers['X-Total-Count'])).toBe(1)
  })
})

describe('user search beside an organisation with 100,000 users', () => {
  it('reads only the users of a small organisation', async () => {
    for (const request of [
      {},
      { query: 'berg' },
      { filter: ['name:ilike:an'] },
      { order: ['created:desc'] },
      { filter: ['auths:in:[ROLE_MANAGE_USER]'] },
    ]) {
      const { scans, read } = await planOf(request, { client: small })
      expect([request, scans]).toEqual([request, []])
      expect(read).toBeLessThan(450)
    }
  })

  it('reads pages of all organisations through indexes for a super admin', async () => {
    const roles: Role[] = ['ROLE_SUPER_ADMIN']
    const orders: [string, SearchRequest['order']][] = [
      ['users_name', undefined],
      ['users_username', ['username']],
      ['users_created', ['created:desc']],
    ]
    for (const [index, order] of orders) {
      const { scans, indexes, read, headers } = await planOf({ order }, { roles })
      // The total is read from the small table of tallies.
      expect([scans.filter((name) => name !== 'user_tallies'), indexes]).toEqual([[], [index]])
      expect(read).toBeLessThan(120)
      expect(headers['X-Total-Count']).toBe('100100')
    }
    const clients = await planOf({ query: 'client 777' }, { roles, of: clientRecords as never })
    expect([clients.scans, clients.headers['X-Total-Count']]).toEqual([[], '11'])
  })
})
