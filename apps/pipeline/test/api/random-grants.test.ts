import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pipelineOperations, type OperationSignature } from '@sluice/contracts'
import { drawCount } from '@sluice/testing/random-case-count'
import { sql } from 'kysely'
import type { Person } from '../join-shared-identity-service.ts'
import { schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { seededRandom } from './seeded-random.ts'
import { type Open, sharedResources } from './shared-resources.ts'
import { viewBody } from './view-fixtures.ts'

const { random, oneOf, some } = seededRandom(20_261_121)

/** Objects of each kind. */
const drawn = drawCount({ short: 6, long: 40 })

type Access = 'READ' | 'READ_WRITE'
interface Grants {
  publicAccess: 'NONE' | Access
  userAccess: { id: string; access: Access }[]
  userGroupAccess: { id: string; access: Access }[]
}
interface Thing extends Grants {
  id: string
  owner: string
}

let service: Service
let people: (Person & { groups: string[]; asking: Asking })[]
let groups: string[]
let open: Open
beforeAll(async () => {
  service = await startService()
  const { identity } = service
  const { id: client } = await identity.client()
  const made = await Promise.all(
    [1, 2, 3, 4].map(() =>
      identity.person(
        client,
        sharedResources.map(([_path, manage]) => manage),
      ),
    ),
  )
  const memberships = [[made[0]!, made[1]!], [made[1]!, made[2]!], []]
  groups = await Promise.all(memberships.map((members) => identity.group(client, members)))
  people = made.map((person) => ({
    ...person,
    groups: groups.filter((_id, index) => memberships[index]!.includes(person)),
    asking: service.as(person),
  }))
  const [{ asking }] = people as [(typeof people)[number]]
  const access = { publicAccess: 'READ_WRITE' }
  const schema = (await asking.post('/schemas').send(schemaBody({ access })).expect(201)).body
  await (await service.stack.warehouses.open(client)).catalog.ensureSchema(schema.schemaName)
  const view = (
    await asking
      .post('/views')
      .send(viewBody(schema.id, 'select 1 as one', { access }))
      .expect(201)
  ).body
  open = { schema: schema.id, view: view.id }
})
afterAll(() => service?.stop())

function randomGrants(): Grants {
  const granted = (ids: string[]) => some(ids).map((id) => ({ id, access: oneOf<Access>(['READ', 'READ_WRITE']) }))
  return {
    publicAccess: oneOf(['NONE', 'NONE', 'NONE', 'READ', 'READ_WRITE'] as const),
    userAccess: granted(people.map(({ id }) => id)),
    userGroupAccess: granted(groups),
  }
}

/** The whole rule, as a person would say it. */
function level(thing: Thing, { id, groups: own }: (typeof people)[number]): 'NONE' | Access {
  const mine = [
    ...thing.userAccess.filter((grant) => grant.id === id),
    ...thing.userGroupAccess.filter((grant) => own.includes(grant.id)),
  ].map(({ access }) => access)
  const all: string[] = [thing.publicAccess, ...mine, thing.owner === id ? 'READ_WRITE' : 'NONE']
  return all.includes('READ_WRITE') ? 'READ_WRITE' : all.includes('READ') ? 'READ' : 'NONE'
}

const signatures = Object.values(pipelineOperations).flatMap((noun): OperationSignature[] => Object.values(noun))
/** What else there is below one of them, by its path behind the id. */
const below = (noun: string) =>
  signatures.flatMap(({ method, path, effect }) => {
    const rest = path.startsWith(`/${noun}/:uid/`) ? path.slice(`/${noun}/:uid`.length) : ''
    const at = rest.replace(':taskId', randomUUID()).replace(':name', 'cases')
    return rest === '' || rest === '/access' ? [] : [{ method, at, effect }]
  })
/** Excludes the rows of any table: that needs a role that no person of this test has, and that overrides grants. */
const readings = (noun: string) =>
  below(noun).filter(
    ({ method, at }) => method === 'get' && !['/tables/cases/data', '/tables/cases/profile'].includes(at),
  )
/** To run it, to begin that, and to cancel it: these take no body, or an empty one. */
const commands = (noun: string) =>
  below(noun).filter(({ at, effect }) => effect === 'write' && /^\/(run|start|cancel)$/.test(at))

it('the tested resources are all that can be shared, by the contracts and by the columns of the database', async () => {
  const paths = sharedResources.map(([path]) => path)
  const shared = signatures.filter(({ path }) => path.endsWith('/:uid/access')).map(({ path }) => path.split('/')[1])
  expect(paths.toSorted()).toEqual([...new Set(shared)].toSorted())
  const { rows } = await sql<{ table: string }>`
    select distinct table_name as table from information_schema.columns
    where table_schema = 'public' and column_name in ('public_access', 'user_access', 'user_group_access')`.execute(
    service.stack.db,
  )
  expect(rows.map(({ table }) => table).toSorted()).toEqual(paths.map((path) => path.replaceAll('-', '_')).toSorted())
})

describe.each(sharedResources)('%s with random grants', (noun, _manage, bodyOf) => {
  const things: Thing[] = []
  beforeAll(async () => {
    for (let more = 0; more < drawn; more += 1) {
      const { asking, id: owner } = oneOf(people)
      const granted = randomGrants()
      const { body } = await asking
        .post(`/${noun}`)
        .send({ ...bodyOf(open), access: granted })
        .expect(201)
      // Half of them are shared anew later: both ways have to come to the same.
      const last = random(2) ? granted : randomGrants()
      if (last !== granted) await asking.put(`/${noun}/${body.id}/access`).send(last).expect(200)
      things.push({ id: body.id, owner, ...last })
    }
  })

  it.each([0, 1, 2, 3])(
    'are listed, read, changed, shared and deleted as their access levels allow: user %#',
    async (index) => {
      const person = people[index]!
      const expected = things.map((thing) => ({ ...thing, level: level(thing, person) }))
      const { body } = await person.asking.get(`/${noun}?paging=false`).expect(200)
      const known = new Set(things.map(({ id }) => id))
      const visible = expected.filter(({ level }) => level !== 'NONE').map(({ id }) => id)
      // Workflows are answered with their pager.
      const ids = ((body.results ?? body) as { id: string }[]).map(({ id }) => id)
      expect(ids.filter((id) => known.has(id)).toSorted()).toEqual(visible.toSorted())
      const search = { filter: [`id:in:[${[...known].join(',')}]`], paging: { paging: false } }
      const { body: found } = await person.asking.post(`/${noun}/search`).send(search).expect(200)
      expect((found.results ?? found).map(({ id }: { id: string }) => id).toSorted()).toEqual(visible.toSorted())

      const status = { NONE: [404, 404], READ: [200, 403], READ_WRITE: [200, 412] }
      for (const { id, level } of expected) {
        const stale = (method: 'put' | 'delete', path = '') =>
          person.asking[method](`/${noun}/${id}${path}`).set('If-Match', '"999"')
        const [read, ...writes] = await Promise.all([
          person.asking.get(`/${noun}/${id}`),
          stale('put').send(bodyOf(open)),
          stale('put', '/access').send({ userAccess: [], userGroupAccess: [] }),
          stale('delete'),
        ])
        const [reading, writing] = status[level]
        expect([id, level, read.status, ...writes.map((write) => write.status)]).toEqual([
          id,
          level,
          reading,
          writing,
          writing,
          writing,
        ])
      }
    },
  )

  it.each([0, 1, 2, 3])(
    'return 404 without access, and 403 for commands with read access, in every operation: user %#',
    async (index) => {
      const person = people[index]!
      const statusOf = async (id: string, { method, at }: { method: OperationSignature['method']; at: string }) => {
        const asked = person.asking[method](`/${noun}/${id}${at}`)
        return [method, at, (await (method === 'post' ? asked.send({}) : asked)).status]
      }
      for (const thing of things) {
        const mine = level(thing, person)
        if (mine === 'READ_WRITE') continue
        const ways = mine === 'NONE' ? [...readings(noun), ...commands(noun)] : commands(noun)
        const answers = await Promise.all(ways.map((way) => statusOf(thing.id, way)))
        expect(answers).toEqual(ways.map(({ method, at }) => [method, at, mine === 'NONE' ? 404 : 403]))
      }
    },
  )
})
