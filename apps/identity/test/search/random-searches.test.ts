import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { startService, type Service } from '../app-under-test.ts'
import { insertUserGroup } from '../user-group-fixtures.ts'
import { foundBy, someFilter, somePiece, type Filter } from './random-filters.ts'
import { groupCodes, pick, randomNumbers, randomPerson, remove, store, type Person } from './random-people.ts'

const random = randomNumbers(4_077)
let service: Service
let admin: Awaited<ReturnType<Service['as']>>
let people: Person[]
/** The administrator, who is also found by the searches. */
let self: Person
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_MANAGE_USER'])
  const other = await service.client()
  for (const client of [admin.client, other])
    for (const code of groupCodes) await insertUserGroup(service.db, client, { code })
  people = Array.from({ length: 150 }, () => randomPerson(random, admin.client))
  await store(service.db, [...people, ...Array.from({ length: 50 }, () => randomPerson(random, other))])
  const { body } = await admin.get('/users/me')
  self = { ...body, ssoId: null, created: new Date(body.created), userGroups: [], client: admin.client }
})
afterAll(() => service.stop())

const everyone = () => [...people, self]
const orders = [
  'name',
  'username:desc',
  'created:desc',
  'status',
  'startPage:desc',
  'ssoId',
  'ssoId:desc',
  'email:idesc',
  'id',
]

interface Search {
  query?: string
  filter: string[]
  rootJunction?: string
  analyticsPlatform?: boolean
  order?: string[]
}

/** Reads every page of a search by cursors. Returns the ids, and the total of each page. */
async function readAllPages(search: Search, pageSize: number): Promise<{ ids: string[]; totals: number[] }> {
  const ids: string[] = []
  const totals: number[] = []
  for (let after: string | undefined; ; ) {
    const { body, headers } = await admin
      .post('/users/search')
      .send({ ...search, paging: { pageSize, after } })
      .expect(200)
    ids.push(...body.map(({ id }: { id: string }) => id))
    totals.push(Number(headers['x-total-count']))
    after = headers['x-next-cursor']
    if (!after) return { ids, totals }
  }
}

function someSearch(): { search: Search; holds: (person: Person) => boolean } {
  const filters: Filter[] = Array.from({ length: Math.floor(random() * 4) }, () => someFilter(random, people))
  const any = random() < 0.4
  const query = random() < 0.3 ? somePiece(random, people) : ''
  const analyticsPlatform = random() < 0.2 ? random() < 0.5 : undefined
  return {
    search: {
      ...(query && { query }),
      filter: filters.map(({ text }) => text),
      rootJunction: any ? 'OR' : 'AND',
      ...(analyticsPlatform !== undefined && { analyticsPlatform }),
      ...(random() < 0.7 && {
        order: [...new Set([pick(random, orders), pick(random, orders)])].filter(
          (term, _at, all) => all.findIndex((one) => one.split(':')[0] === term.split(':')[0]) === all.indexOf(term),
        ),
      }),
    },
    holds: (person) =>
      (analyticsPlatform === undefined || person.analyticsPlatformEnabled === analyticsPlatform) &&
      (!query || foundBy(query, person)) &&
      (filters.length === 0 ||
        (any ? filters.some(({ holds }) => holds(person)) : filters.every(({ holds }) => holds(person)))),
  }
}

/** Adds, removes or changes a random user, in the database and in the model. */
async function changeRandomUser(): Promise<void> {
  const [added, existing] = [randomPerson(random, admin.client), pick(random, people)]
  const changed = { ...randomPerson(random, admin.client), id: existing.id, username: existing.username }
  switch (Math.floor(random() * 3)) {
    case 0:
      people.push(added)
      return store(service.db, [added])
    case 1:
      people = people.filter((person) => person !== existing)
      await remove(service.db, [existing])
      return
    default:
      people = people.map((person) => (person === existing ? changed : person))
      return store(service.db, [changed])
  }
}

describe('user search', () => {
  it('returns the same users and totals as an in-memory model for random searches between changes', async () => {
    const repeatedSearches = Array.from({ length: 12 }, someSearch)
    for (let round = 0; round < 120; round++) {
      // Half of the searches are repeated, so that cached totals are read after changes.
      const { search, holds } = random() < 0.5 ? pick(random, repeatedSearches) : someSearch()
      const { ids, totals } = await readAllPages(search, pick(random, [7, 50, 1000]))
      const expected = everyone().filter(holds)
      expect({ search, ids: ids.toSorted() }).toEqual({ search, ids: expected.map(({ id }) => id).toSorted() })
      expect({ search, totals: [...new Set(totals)] }).toEqual({ search, totals: [expected.length] })
      const { body } = await admin.post('/users/search').send({ ...search, paging: { paging: false } })
      expect(body.map(({ id }: { id: string }) => id)).toEqual(ids)
      if (random() < 0.5) await changeRandomUser()
    }
  })

  it('returns each unchanged user once when a caller follows next links during concurrent changes', async () => {
    const unchanged = new Set(people.filter(() => random() < 0.6).map(({ id }) => id))
    const seen: string[] = []
    let next: string | undefined = '/users?order=status:desc&order=name:idesc&pageSize=11'
    while (next) {
      const { body, headers }: { body: { id: string }[]; headers: Record<string, string> } = await admin
        .get(next)
        .expect(200)
      seen.push(...body.map(({ id }) => id))
      next = /<\/api\/v1([^>]+)>; rel="next"/.exec(headers['link'] ?? '')?.[1]
      const added = [randomPerson(random, admin.client), randomPerson(random, admin.client)]
      await store(service.db, added)
      const removed = people.filter(({ id }) => !unchanged.has(id)).slice(0, 2)
      await remove(service.db, removed)
      people = [...people.filter((person) => !removed.includes(person)), ...added]
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect([...unchanged].filter((id) => !seen.includes(id))).toEqual([])
  })

  it('returns the total of the snapshot of its page during concurrent writes', async () => {
    const searchesEnd = new AbortController()
    const writers = Array.from({ length: 3 }, async () => {
      while (!searchesEnd.signal.aborted) {
        const temporary = [randomPerson(random, admin.client), randomPerson(random, admin.client)]
        await store(service.db, temporary)
        await remove(service.db, temporary)
      }
    })
    const filters = [
      [],
      ['status:eq:ACTIVE'],
      ['auths:in:[ROLE_GET_FILE]'],
      ['name:ilike:an'],
      ['userGroups.code:eq:RED'],
    ]
    const searches = Array.from({ length: 4 }, async () => {
      for (let round = 0; round < 40; round++) {
        const request = { filter: pick(random, filters), paging: { paging: false } }
        const { body, headers } = await admin.post('/users/search').send(request).expect(200)
        expect([request, headers['x-total-count']]).toEqual([request, String(body.length)])
      }
    })
    await Promise.all(searches).finally(() => searchesEnd.abort())
    await Promise.all(writers)
  })

  it('rejects a malformed cursor and a cursor of a different search', async () => {
    const search = { filter: ['status:eq:ACTIVE'], order: ['name'], paging: { pageSize: 2 } }
    const { headers } = await admin.post('/users/search').send(search).expect(200)
    const paging = { pageSize: 2, after: headers['x-next-cursor'] }
    await admin
      .post('/users/search')
      .send({ ...search, paging })
      .expect(200)
    for (const changed of [{ filter: [] }, { order: ['name:desc'] }, { query: 'a' }, { analyticsPlatform: true }]) {
      const { body } = await admin
        .post('/users/search')
        .send({ ...search, ...changed, paging })
        .expect(400)
      expect(body.errors).toEqual([
        { pointer: '/paging/after', detail: expect.stringContaining('not a cursor of this list') },
      ])
    }
    await admin.get(`/users?after=${randomUUID()}`).expect(400)
    await admin.get(`/users?after=${'x'.repeat(2001)}`).expect(400)
    const others = await service.as(['ROLE_MANAGE_USER_GROUP', 'ROLE_MANAGE_CLIENT'], admin.client)
    await others
      .post('/user-groups/search')
      .send({ ...search, filter: [], paging })
      .expect(400)
    await others
      .post('/clients/search')
      .send({ order: ['name'], paging })
      .expect(400)
  })
})

describe('user tallies', () => {
  const countUsers = async () =>
    (
      await sql`
        select client, status, start_page, sso_auth, analytics_platform_enabled, count(*) as total
        from users group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`.execute(service.db)
    ).rows
  const readTallies = async () =>
    (
      await sql`
        select client, status, start_page, sso_auth, analytics_platform_enabled, total
        from user_tallies where total <> 0 order by 1, 2, 3, 4, 5`.execute(service.db)
    ).rows
  const countChanges = async () =>
    (
      await sql<{
        n: number
      }>`select sum(changes)::bigint as n from user_tallies where client = ${admin.client}`.execute(service.db)
    ).rows[0]!.n

  it('equal the counted users after sequential and concurrent changes', async () => {
    expect(await readTallies()).toEqual(await countUsers())
    await sql`update users set status = 'INACTIVE', sso_auth = false, start_page = 'MANAGER' where name like '%n%'`.execute(
      service.db,
    )
    await Promise.all(Array.from({ length: 20 }, () => store(service.db, [randomPerson(random, admin.client)])))
    // On one connection, which caches the plans of the triggers.
    await sql`do $$ begin
      for turn in 1..20 loop
        update users set status = case turn % 2 when 0 then 'ACTIVE' else 'INACTIVE' end where name like '%e%';
      end loop;
    end $$`.execute(service.db)
    await sql`delete from users where name like '%Ost%'`.execute(service.db)
    expect(await readTallies()).toEqual(await countUsers())
    await expect(sql`truncate users cascade`.execute(service.db)).rejects.toThrow('not truncated')
  })

  it('count changes of searchable properties, and no changes caused by sign-ins', async () => {
    const { rows: columns } = await sql<{ name: string; type: string }>`
      select attname as name, format_type(atttypid, null) as type from pg_attribute
      where attrelid = 'users'::regclass and attnum > 0 and not attisdropped and attgenerated = '' and attidentity = ''`.execute(
      service.db,
    )
    const uncounted = ['password_hash', 'token_valid_after', 'service_intro', 'version', 'last_signed_in_at']
    const changedValue: Record<string, string> = {
      text: `'x' || md5(random()::text)`,
      uuid: 'gen_random_uuid()',
      boolean: 'not coalesce(@, false)',
      bigint: '@ + 1',
      jsonb: `'[{"locale":"fr"}]'`,
      'text[]': `'{x}'`,
      'timestamp with time zone': `coalesce(@, now()) + interval '1 day'`,
      status: `'INVITATION'`,
      start_page: `'INTEGRATION'`,
      client: `(select uid from clients where uid <> @ limit 1)`,
    }
    const subject = randomPerson(random, admin.client)
    await store(service.db, [{ ...subject, status: 'ACTIVE', startPage: 'DEFAULT', ssoAuth: false }])
    for (const { name, type } of columns.filter(({ name }) => name !== 'uid')) {
      const before = await countChanges()
      const value = (changedValue[name] ?? changedValue[type] ?? 'null').replaceAll('@', name)
      await sql`update users set ${sql.ref(name)} = ${sql.raw(value)} where uid = ${subject.id}`.execute(service.db)
      expect([name, (await countChanges()) > before]).toEqual([name, !uncounted.includes(name)])
      // Resets the columns that constraints combine with others.
      await sql`
        update users set sso_auth = false, password_hash = null, client = ${admin.client} where uid = ${subject.id}`.execute(
        service.db,
      )
    }
  })
})
