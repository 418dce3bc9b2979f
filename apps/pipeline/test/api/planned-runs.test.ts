import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { PlannedRun } from '@sluice/contracts'
import { modelTicks } from '../../src/schedules/test/cron-tick-model.ts'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { workflowBody } from './workflow-body.ts'

const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_WORKFLOW'] as const
const zone = 'Europe/Oslo'

let service: Service
let owner: Asking
let partner: Asking
let stranger: Asking
let person: Person
let schema: string
beforeAll(async () => {
  service = await startService()
  const { identity } = service
  const [here, there] = await Promise.all([identity.client({ timeZone: zone }), identity.client()])
  const people = await Promise.all([
    identity.person(here.id, [...roles]),
    identity.person(here.id, [...roles]),
    identity.person(there.id, [...roles]),
  ])
  ;[owner, partner, stranger] = people.map((one) => service.as(one)) as [Asking, Asking, Asking]
  person = people[1]!
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const jdbcSource = { hostname: 'db.example.org', database: 'registry', username: 'reader' }
const scheduled = async (changes: object): Promise<string> => {
  const body = pipelineBody(schema, { type: 'SQL_DATABASE_D', jdbcSource, sqlQuery: 'select 1', ...changes })
  return (await owner.post('/data-pipelines').send(body).expect(201)).body.id
}
const remove = (id: string) => owner.delete(`/data-pipelines/${id}`).expect(204)
const encoded = encodeURIComponent
const listed = async (by: Asking, query: string) => {
  const { body, headers } = await by.get(`/schedules?${query}`).expect(200)
  return { plans: body as PlannedRun[], headers: headers as Record<string, string> }
}
async function allPages(query: string): Promise<PlannedRun[]> {
  const found: PlannedRun[] = []
  let { plans, headers } = await listed(owner, query)
  for (;;) {
    found.push(...plans)
    const next = /<([^>]+)>; rel="next"/.exec(headers['link'] ?? '')?.[1]
    if (!next) return found
    ;({ plans, headers } = await listed(owner, next.split('?')[1]!))
  }
}
/** The next day of the year of which Oslo's clocks change in that month. */
const changeOf = (month: number) => {
  const year = new Date().getUTCFullYear() + 1
  const last = new Date(Date.UTC(year, month, 31))
  return new Date(last.getTime() - last.getUTCDay() * 86_400_000)
}
const spring = changeOf(2)
const autumn = changeOf(9)

describe('GET /schedules', () => {
  it('lists the runs of all schedules by time, over both clock changes, in pages of any size', async () => {
    const expressions = ['30 2 * * *', '*/20 1-4 * * *', '0 0 * * 0', '15 * * * *']
    const ids = await Promise.all(
      expressions.map((cronExpression) => scheduled({ runTrigger: 'CUSTOM', cronExpression })),
    )
    const off = await scheduled({ runTrigger: 'EVERY_15_MIN', disabled: true })
    for (const change of [spring, autumn]) {
      const from = new Date(change.getTime() - 12 * 3_600_000)
      const hours = 40
      const to = new Date(from.getTime() + hours * 3_600_000)
      // The model returns the ticks after the start and up to the end. The list returns those from the start and before
      // the end.
      const expected = expressions
        .flatMap((expression, index) =>
          modelTicks(expression, zone, from.getTime() - 1, hours)
            .filter((tick) => tick < to.getTime())
            .map((tick) => ({ tick, id: ids[index]! })),
        )
        .toSorted((one, other) => one.tick - other.tick || (one.id < other.id ? -1 : 1))
      expect(expected.length).toBeGreaterThan(60)
      for (const pageSize of [7, 50, 200]) {
        const plans = await allPages(
          `from=${encoded(from.toISOString())}&to=${encoded(to.toISOString())}&pageSize=${pageSize}`,
        )
        expect(plans.map(({ at, object }) => ({ tick: Date.parse(at), id: object.id }))).toEqual(expected)
      }
    }
    const from = new Date(spring.getTime() - 3_600_000).toISOString()
    const { plans } = await listed(owner, `from=${encoded(from)}&kind=DATA_PIPELINE`)
    const shifted = plans.find(({ object }) => object.id === ids[0])!
    const day = spring.toISOString().slice(0, 10)
    expect(shifted).toMatchObject({ at: `${day}T03:30:00.000+02:00`, timeZone: zone, late: false, mode: 'FULL' })
    for (const id of [...ids, off]) await remove(id)
  })

  it('shows only what the caller may see', async () => {
    const shared = await scheduled({
      runTrigger: 'EVERY_HOUR',
      access: { userAccess: [{ id: person.id, access: 'READ' }] },
    })
    const own = await scheduled({ runTrigger: 'EVERY_HOUR' })
    const workflow = (
      await owner
        .post('/workflows')
        .send(workflowBody([], { runTrigger: 'EVERY_HOUR' }))
        .expect(201)
    ).body.id
    const objects = ({ plans }: { plans: PlannedRun[] }) =>
      [...new Set(plans.map(({ object }) => object.id))].toSorted()
    expect(objects(await listed(owner, 'pageSize=200'))).toEqual([shared, own, workflow].toSorted())
    expect(objects(await listed(owner, 'kind=WORKFLOW'))).toEqual([workflow])
    expect(objects(await listed(owner, `schema=${schema}`))).toEqual([shared, own].toSorted())
    expect(objects(await listed(partner, 'pageSize=200'))).toEqual([shared])
    expect(objects(await listed(stranger, 'pageSize=200'))).toEqual([])
    for (const id of [shared, own]) await remove(id)
    await owner.delete(`/workflows/${workflow}`).expect(204)
  })

  it('shows a late run once, as the first', async () => {
    const id = await scheduled({ runTrigger: 'EVERY_HOUR' })
    const due = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 5 * 3_600_000)
    await service.stack.db
      .updateTable('runnables')
      .set({ planned: true, zone, next_run_at: due, next_full_run_at: due })
      .where('uid', '=', id)
      .execute()
    const { plans } = await listed(owner, 'pageSize=3')
    expect(plans.map(({ at, late }) => [Date.parse(at) - due.getTime(), late])).toEqual([
      [0, true],
      [6 * 3_600_000, false],
      [7 * 3_600_000, false],
    ])
    await remove(id)
  })

  it('tells full runs from incremental runs', async () => {
    const id = await scheduled({
      runTrigger: 'NEVER',
      continuouslyUpdated: true,
      continuousUpdateInterval: 360,
      fullRefreshInterval: 24,
    })
    const { plans } = await listed(owner, `from=${encoded(autumn.toISOString())}&pageSize=8`)
    expect(plans.map(({ mode }) => mode).toSorted()).toEqual([
      'FULL',
      'FULL',
      ...Array.from({ length: 6 }, () => 'INCREMENTAL'),
    ])
    await remove(id)
  })

  it.each([
    ['from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z', 422, '/to'],
    ['from=2026-01-01T00:00:00Z&to=2027-06-01T00:00:00Z', 422, '/to'],
    ['to=1999-01-01T00:00:00Z', 422, '/to'],
    ['from=tomorrow', 400, '/from'],
    ['from=0000-01-01T00:00:00Z', 400, '/from'],
    ['after=nonsense', 400, '/after'],
    ['order=at', 400, '/order'],
  ])('refuses %s', async (query, status, pointer) => {
    const { body } = await owner.get(`/schedules?${query}`).expect(status)
    expect(body.errors.map((error: { pointer: string }) => error.pointer)).toEqual([pointer])
  })
})

describe('POST /schedules/preview', () => {
  const preview = async (body: object) => (await owner.post('/schedules/preview').send(body).expect(200)).body

  it('describes a cron expression in words, with its next five runs in the zone of the organisation', async () => {
    const after = new Date(spring.getTime() - 2 * 86_400_000 + 6 * 3_600_000).toISOString()
    const days = [-1, 0, 1, 2, 3].map((more) =>
      new Date(spring.getTime() + more * 86_400_000).toISOString().slice(0, 10),
    )
    expect(await preview({ cronExpression: '30 2 * * *', after })).toEqual({
      description: 'At 2:30 every day.',
      triggerExpression: `30 2 * * * (${zone})`,
      timeZone: zone,
      next: [
        { at: `${days[0]}T02:30:00.000+01:00`, mode: 'FULL' },
        // At this day, 2:30 does not exist.
        { at: `${days[1]}T03:30:00.000+02:00`, mode: 'FULL' },
        ...days.slice(2).map((day) => ({ at: `${day}T02:30:00.000+02:00`, mode: 'FULL' })),
      ],
    })
  })

  it('describes triggers and continuous updates like the schedule of an object', async () => {
    expect(await preview({ runTrigger: 'NEVER' })).toEqual({
      description: 'Only on request.',
      timeZone: zone,
      next: [],
    })
    const random = await preview({ runTrigger: 'EVERY_NIGHT_RANDOM' })
    expect(random).toMatchObject({
      description: expect.stringMatching(/^Once between 0:00 and 5:00 every day/),
      next: [],
    })
    const id = await scheduled({ runTrigger: 'EVERY_NIGHT_RANDOM' })
    const { triggerExpression } = (await owner.get(`/data-pipelines/${id}`).expect(200)).body
    const known = await preview({ runTrigger: 'EVERY_NIGHT_RANDOM', id })
    expect(known.triggerExpression).toBe(triggerExpression)
    const { plans } = await listed(owner, 'pageSize=5')
    expect(known.next).toEqual(plans.map(({ at, mode }) => ({ at, mode })))
    await remove(id)
  })

  it.each([
    [{}, '/runTrigger', /^The body has no schedule/],
    [{ runTrigger: 'CUSTOM' }, '/cronExpression', /needs a cron expression/],
    [{ cronExpression: '0 25 * * *' }, '/cronExpression', /field for the hour, "25"/],
    [{ cronExpression: '0 0 30 2 *' }, '/cronExpression', /never matches/],
    [{ continuouslyUpdated: true }, '/continuousUpdateInterval', /interval in minutes/],
  ])('refuses %j', async (body, pointer, detail) => {
    const answer = await owner.post('/schedules/preview').send(body).expect(422)
    expect(answer.body.errors).toEqual([{ pointer, detail: expect.stringMatching(detail) }])
  })
})
