import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ObjectRun, RunListQuery, RunOrigin } from '@sluice/contracts'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { groupBody } from './quality-check-bodies.ts'
import { workflowBody } from './workflow-body.ts'

const roles = [
  'ROLE_MANAGE_SCHEMA',
  'ROLE_MANAGE_DATA_PIPELINE',
  'ROLE_MANAGE_WORKFLOW',
  'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP',
] as const
const states = ['OK', 'WARNING', 'FAILED', 'CANCELLED'] as const
const origins = ['MANUAL', 'SCHEDULE', 'WORKFLOW'] as const satisfies readonly RunOrigin[]
/** Runs of each object. */
const runsPerObject = 12

interface Runnable {
  path: string
  id: string
  schema?: string
}

let service: Service
let owner: Asking
/** Sees a third of the objects: more than a tenth. */
let partner: Asking
/** Sees one object of 24. */
let guest: Asking
/** Sees the same objects as the partner, and has only the role for workflows. */
let clerk: Asking
let stranger: Asking
let schemas: string[]
let objects: Runnable[]
beforeAll(async () => {
  service = await startService()
  const { identity } = service
  const [here, there] = await Promise.all([identity.client(), identity.client()])
  const people = await Promise.all([
    identity.person(here.id, [...roles]),
    identity.person(here.id, [...roles]),
    identity.person(here.id, [...roles]),
    identity.person(here.id, ['ROLE_SEE_WORKFLOW']),
    identity.person(there.id, [...roles]),
  ])
  const [, two, three, four] = people as [Person, Person, Person, Person, Person]
  ;[owner, partner, guest, clerk, stranger] = people.map((person) => service.as(person)) as [
    Asking,
    Asking,
    Asking,
    Asking,
    Asking,
  ]
  const made = async (path: string, body: object) => (await owner.post(path).send(body).expect(201)).body.id as string
  schemas = [await made('/schemas', schemaBody()), await made('/schemas', schemaBody())]
  objects = []
  for (let count = 0; count < 24; count += 1) {
    const shared = [...(count % 3 === 0 ? [two, four] : []), ...(count === 6 ? [three] : [])]
    const access = { userAccess: shared.map(({ id }) => ({ id, access: 'READ' })) }
    const schema = schemas[count % 2]!
    const [path, body] = [
      ['/data-pipelines', pipelineBody(schema, { access })],
      ['/data-pipelines', pipelineBody(schema, { access })],
      ['/workflows', workflowBody([], { access })],
      ['/data-quality-check-groups', groupBody({ access })],
    ][count % 4] as [string, object]
    const id = await made(path, body)
    objects.push({ path, id, ...(path === '/data-pipelines' && { schema }) })
  }
  await addRuns(here.id)
})
afterAll(() => service?.stop())

/** Adds runs in turns, so that the newest runs are of all objects. Some have the same time. */
async function addRuns(client: string) {
  const { db } = service.stack
  const ids = new Map(
    (await db.selectFrom('runnables').select(['id', 'uid']).execute()).map(({ id, uid }) => [uid, id]),
  )
  const start = Date.parse('2026-03-01T00:00:00Z')
  for (let round = 0; round < runsPerObject; round += 1) {
    const isLast = round === runsPerObject - 1
    await db
      .insertInto('runs')
      .values(
        objects.map(({ id }, index) => {
          const state = isLast && index % 5 === 0 ? 'QUEUED' : states[(round * 7 + index * 3) % 4]!
          return {
            client,
            runnable_id: ids.get(id)!,
            trigger: origins[(round + index) % 3]!,
            state,
            created_at: new Date(start + round * 3_600_000 + Math.floor(index / 2) * 60_000),
            ...(state !== 'QUEUED' && { finished_at: new Date(), message: `Run ${round} of object ${index}.` }),
            input: '{}',
            created_by: null,
          }
        }),
      )
      .execute()
  }
}

const listed = async (by: Asking, query: object = {}) => {
  const text = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, String(one)]),
    ),
  )
  return (await by.get(`/runs?${text}`).expect(200)) as { body: ObjectRun[]; headers: Record<string, string> }
}

/** All pages, by the links of each. */
async function allPages(by: Asking, query: object): Promise<ObjectRun[]> {
  const found: ObjectRun[] = []
  let { body, headers } = await listed(by, query)
  for (;;) {
    found.push(...body)
    const next = /<([^>]+)>; rel="next"/.exec(headers['link'] ?? '')?.[1]
    if (!next) return found
    ;({ body, headers } = await by.get(next.replace('/api/v1', '')).expect(200))
  }
}

/** The runs that somebody may see, read from the list of each object. */
async function runsByObject(by: Asking): Promise<(ObjectRun & { schema?: string })[]> {
  const found = await Promise.all(
    objects.map(async ({ path, id, schema }) => {
      const { status, body } = await by.get(`${path}/${id}/runs?pageSize=1000`)
      return status === 200 ? (body as ObjectRun[]).map((run) => ({ ...run, object: { id }, schema })) : []
    }),
  )
  return found.flat() as never
}
const taskIds = (runs: readonly { taskId: string }[]) => runs.map(({ taskId }) => taskId)

describe('GET /runs', () => {
  it('returns each run with its object and the sentence of what happened, newest first', async () => {
    const { body, headers } = await listed(owner, { pageSize: 200 })
    expect(body).toHaveLength(200)
    expect(body[0]).toMatchObject({
      object: { kind: expect.any(String), id: expect.any(String), name: expect.any(String) },
    })
    expect(body.filter(({ finished }) => finished).every(({ message }) => /^Run \d+ of object/.test(message!))).toBe(
      true,
    )
    expect(body.map(({ created }) => created)).toEqual(
      body
        .map(({ created }) => created)
        .toSorted()
        .toReversed(),
    )
    expect(headers).toMatchObject({ 'x-page': '1', 'x-page-size': '200', 'x-next-cursor': expect.any(String) })
    expect(headers).not.toHaveProperty('x-total-count')
  })

  it('returns nothing of another organisation', async () => {
    expect((await listed(stranger)).body).toEqual([])
    expect((await listed(stranger, { schema: schemas[0] })).body).toEqual([])
  })

  it('returns 403 without a role that shows runs, and only the kinds of objects that the roles show', async () => {
    const { identity } = service
    const { id } = await identity.client()
    const none = service.as(await identity.person(id, ['ROLE_MANAGE_SCHEMA']))
    await none.get('/runs').expect(403)
    await none.get('/runs/stream').expect(403)
    const workflows = await listed(clerk, { pageSize: 200 })
    expect(taskIds(workflows.body)).toEqual(taskIds((await listed(partner, { pageSize: 200, kind: 'WORKFLOW' })).body))
    expect(workflows.body).toHaveLength(2 * runsPerObject)
    expect((await listed(clerk, { kind: 'DATA_PIPELINE' })).body).toEqual([])
  })

  it.each([
    ['status=NEVER_RUN', '/status/0'],
    ['kind=TABLE', '/kind/0'],
    ['trigger=ALARM', '/trigger/0'],
    ['since=yesterday', '/since'],
    ['since=0000-01-01T00:00:00Z', '/since'],
    ['since=2026-12-31T23:59:60Z', '/since'],
    ['schema=cases', '/schema'],
    ['pageSize=201', '/pageSize'],
    ['page=2', '/page'],
    ['after=nonsense', '/after'],
    ['filter=name:eq:x', '/filter'],
  ])('refuses %s', async (query, pointer) => {
    const { body } = await owner.get(`/runs?${query}`).expect(400)
    expect(body.errors.map((error: { pointer: string }) => error.pointer)).toEqual([pointer])
  })

  it('refuses the cursor of another list', async () => {
    const { headers } = await listed(owner, { pageSize: 5 })
    const after = headers['x-next-cursor']!
    await listed(owner, { pageSize: 7, after })
    const { body } = await owner.get(`/runs?status=FAILED&after=${after}`).expect(400)
    expect(body.detail).toMatch(/^\/after is not a cursor of this list/)
  })

  it.each(['everything', 'a third of the objects', 'one object of 24'])(
    'lists the same runs as the lists of the objects, for any filter and page size: a reader of %s',
    async (what) => {
      const by = { everything: owner, 'a third of the objects': partner, 'one object of 24': guest }[what]!
      const expected = await runsByObject(by)
      const kindOf = { '/data-pipelines': 'DATA_PIPELINE', '/workflows': 'WORKFLOW' } as Record<string, string>
      const kinds = new Map(objects.map(({ id, path }) => [id, kindOf[path] ?? 'DATA_QUALITY_CHECK_GROUP']))
      expect(expected.length).toBe(
        runsPerObject * { everything: 24, 'a third of the objects': 8, 'one object of 24': 1 }[what]!,
      )
      const some = <T>(from: readonly T[]) => fc.option(fc.subarray([...from], { minLength: 1 }), { nil: undefined })
      const filters = fc.record({
        kind: some(['DATA_PIPELINE', 'WORKFLOW', 'DATA_QUALITY_CHECK_GROUP', 'VIEW'] as const),
        status: some([...states, 'QUEUED', 'RUNNING'] as const),
        trigger: some(origins),
        schema: fc.option(fc.constantFrom(...schemas), { nil: undefined }),
        since: fc.option(fc.constantFrom('2026-03-01T05:03:00Z', '2026-03-01T12:00:00+01:00'), { nil: undefined }),
        pageSize: fc.constantFrom(3, 17, 50, 200),
      })
      await fc.assert(
        fc.asyncProperty(filters, async ({ pageSize, ...filter }) => {
          const query = Object.fromEntries(
            Object.entries(filter).filter(([, value]) => value !== undefined),
          ) as RunListQuery
          const { kind, status, trigger, schema, since } = query
          const matching = expected
            .filter(
              (run) =>
                (!kind || kind.includes(kinds.get(run.object.id) as never)) &&
                (!status || status.includes(run.status as never)) &&
                (!trigger || trigger.includes(run.trigger)) &&
                (!schema || run.schema === schema) &&
                (!since || Date.parse(run.created) >= Date.parse(since)),
            )
            .toSorted((one, other) => Date.parse(other.created) - Date.parse(one.created))
          const found = await allPages(by, { ...query, pageSize })
          expect(found.map(({ created }) => created)).toEqual(matching.map(({ created }) => created))
          expect(taskIds(found).toSorted()).toEqual(taskIds(matching).toSorted())
        }),
        { numRuns: drawCount({ short: 12, long: 300 }) },
      )
    },
  )
})

describe('lists of objects', () => {
  it('are filtered and ordered by the last run', async () => {
    const { body: all } = await owner.get('/data-pipelines?order=lastRun:desc').expect(200)
    const times = all.map(({ status }: { status: { lastRun: string } }) => status.lastRun)
    expect(times).toEqual(times.toSorted().toReversed())
    for (const path of ['/data-pipelines', '/workflows', '/data-quality-check-groups']) {
      const { body } = await owner
        .get(`${path}?filter=lastRunStatus:eq:QUEUED&filter=lastRun:ge:2026-03-01`)
        .expect(200)
      const found = ((body.results ?? body) as { id: string }[]).map(({ id }) => id)
      const queued = objects.filter((object, index) => index % 5 === 0 && object.path === path).map(({ id }) => id)
      expect(found.toSorted()).toEqual(queued.toSorted())
    }
    const { body: never } = await owner.get('/data-pipelines?filter=lastRunStatus:eq:NEVER_RUN').expect(200)
    expect(never).toEqual([])
  })

  it('do not count dry runs as last runs', async () => {
    const id = (await owner.post('/data-pipelines').send(pipelineBody(schemas[0]!)).expect(201)).body.id as string
    const row = await service.stack.db
      .selectFrom('data_pipelines')
      .select(['id', 'client'])
      .where('uid', '=', id)
      .executeTakeFirstOrThrow()
    await service.stack.db
      .insertInto('runs')
      .values({
        client: row.client,
        runnable_id: row.id,
        trigger: 'MANUAL',
        action: 'DRY_RUN',
        state: 'OK',
        input: '{}',
      })
      .execute()
    const { body } = await owner
      .get('/data-pipelines?filter=lastRunStatus:eq:NEVER_RUN&filter=lastRun:null')
      .expect(200)
    expect(body.map((found: { id: string }) => found.id)).toEqual([id])
  })
})
