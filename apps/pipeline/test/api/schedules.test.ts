import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Client, runTriggers } from '@sluice/contracts'
import { planned } from '../worker/schedule-fixtures.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let client: Client
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService()
  client = await service.identity.client({ timeZone: 'Europe/Oslo' })
  owner = service.as(await service.identity.person(client.id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const jdbcSource = { hostname: 'db.example.org', database: 'registry', username: 'reader' }
const body = (changes: object = {}) =>
  pipelineBody(schema, { type: 'SQL_DATABASE_D', jdbcSource, sqlQuery: 'select 1', ...changes })
const create = async (changes: object) => (await owner.post('/data-pipelines').send(body(changes)).expect(201)).body
const idOf = async (uid: string) =>
  service.stack.db.selectFrom('data_pipelines').select('id').where('uid', '=', uid).executeTakeFirstOrThrow()

describe('a schedule', () => {
  it.each([
    [{ runTrigger: 'EVERY_DAY_2AM' }, /^0 2 \* \* \* \(Europe\/Oslo\)$/],
    [{ runTrigger: 'EVERY_NIGHT_RANDOM' }, /^[1-5]?\d [0-4] \* \* \* \(Europe\/Oslo\)$/],
    [{ runTrigger: 'CUSTOM', cronExpression: ' 0 30  6 * * MON-FRI ' }, /^30 6 \* \* MON-FRI \(Europe\/Oslo\)$/],
    [{ runTrigger: 'NEVER', continuouslyUpdated: true, continuousUpdateInterval: 15 }, /^every 15 minutes$/],
    [
      { runTrigger: 'EVERY_SATURDAY', continuouslyUpdated: true, continuousUpdateInterval: 1, fullRefreshInterval: 24 },
      /^every minute; full load at 0 0 \* \* 6 \(Europe\/Oslo\) and every 24 hours$/,
    ],
  ])('like %j returns its trigger expression in the time zone of the organisation', async (changes, expression) => {
    const made = await create(changes)
    expect(made).toMatchObject({ ...changes, triggerExpression: expect.stringMatching(expression) })
    const { body: put } = await owner.put(`/data-pipelines/${made.id}`).send(made).expect(200)
    expect(put.triggerExpression).toBe(made.triggerExpression)
  })

  it('of an uploaded file accepts every trigger', async () => {
    for (const runTrigger of runTriggers) {
      const cron = runTrigger === 'CUSTOM' ? { cronExpression: '0 6 * * *' } : {}
      const given = pipelineBody(schema, { runTrigger, ...cron })
      const { body: made } = await owner.post('/data-pipelines').send(given).expect(201)
      expect(made).toMatchObject({ runTrigger, scheduleable: true })
    }
    const continuous = { continuouslyUpdated: true, continuousUpdateInterval: 5 }
    await owner.post('/data-pipelines').send(pipelineBody(schema, continuous)).expect(201)
  })

  it('with the trigger NEVER has no trigger expression', async () => {
    expect(await create({ runTrigger: 'NEVER' })).not.toHaveProperty('triggerExpression')
  })

  it.each([
    [{ runTrigger: 'CUSTOM' }, '/cronExpression', /^The trigger CUSTOM needs a cron expression/],
    [{ runTrigger: 'CUSTOM', cronExpression: '*/5 * * * * *' }, '/cronExpression', /once a minute/],
    [{ runTrigger: 'CUSTOM', cronExpression: '0 0 30 2 *' }, '/cronExpression', /never matches/],
    [{ runTrigger: 'CUSTOM', cronExpression: '0 25 * * *' }, '/cronExpression', /field for the hour, "25"/],
    [{ continuouslyUpdated: true }, '/continuousUpdateInterval', /need an interval in minutes/],
    [{ continuouslyUpdated: true, continuousUpdateInterval: 44_641 }, '/continuousUpdateInterval', /at most 44,640/],
    [
      { continuouslyUpdated: true, continuousUpdateInterval: 5, fullRefreshInterval: 8_785 },
      '/fullRefreshInterval',
      /at most 8,784/,
    ],
  ])('like %j is refused', async (changes: object, pointer, detail) => {
    const answer = await owner.post('/data-pipelines').send(body(changes)).expect(422)
    expect(answer.body.errors).toEqual([{ pointer, detail: expect.stringMatching(detail) }])
  })

  it('is planned by a worker, and planned again if the time zone of the organisation changes', async () => {
    const made = await create({ runTrigger: 'EVERY_DAY_2AM' })
    const row = await idOf(made.id)
    await using _worker = await spawnWorker(service.environment)
    await until(async () => (await planned(service.stack, row)).planned)
    expect(await planned(service.stack, row)).toMatchObject({ zone: 'Europe/Oslo' })
    const { body: shown } = await owner.get(`/data-pipelines/${made.id}`).expect(200)
    expect(shown.status.nextFullReplaceRun).toMatch(/T0[01]:00:00\.000Z$/)
    await service.identity.changeClient(client, { timeZone: 'Asia/Kathmandu' })
    const moved = await until(async () => {
      const now = await planned(service.stack, row)
      return now.zone === 'Asia/Kathmandu' && now
    })
    expect(moved.next).toMatch(/T20:15:00\.000Z$/)
    // The service reads the time zone from its cache of organisations, which may be some seconds old.
    await until(async () => {
      const { body: after } = await owner.get(`/data-pipelines/${made.id}`).expect(200)
      return after.triggerExpression === '0 2 * * * (Asia/Kathmandu)'
    })
  })
})
