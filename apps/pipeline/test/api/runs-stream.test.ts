import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ObjectRun } from '@sluice/contracts'
import { until } from '@sluice/testing/wait-until'
import { watchRuns } from '../../src/api/runs/watch-run-changes.ts'
import type { Person } from '../join-shared-identity-service.ts'
import { overheard } from '../worker/captured-queries.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { eventsOf } from './parse-server-sent-events.ts'
import { workflowBody } from './workflow-body.ts'

const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_WORKFLOW'] as const

let service: Service
let client: string
let person: Person
let colleague: Person
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService()
  ;({ id: client } = await service.identity.client())
  ;[person, colleague] = (await Promise.all([1, 2].map(() => service.identity.person(client, [...roles])))) as [
    Person,
    Person,
  ]
  owner = service.as(person)
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

/** A pipeline with a queued run. */
async function queued(changes: object = {}) {
  const pipeline = (await owner.post('/data-pipelines').send(pipelineBody(schema, changes)).expect(201)).body
    .id as string
  await owner.post(`/data-pipelines/${pipeline}/file`).type('text/csv').send('a\n1\n').expect(200)
  const { body } = await owner.post(`/data-pipelines/${pipeline}/run`).expect(202)
  return { pipeline, task: body.data.taskId as string }
}
const change = (task: string, values: object) =>
  service.stack.db.updateTable('runs').set(values).where('uid', '=', task).execute()
const end = (task: string, state = 'OK') =>
  change(task, { state, started_at: new Date(), finished_at: new Date(), message: 'The end.' })

/** Opens a stream; its events are those that have come so far. */
async function listen({
  by = person,
  query = '',
  headers = {},
}: {
  by?: Person
  query?: string
  headers?: object
} = {}) {
  const left = new AbortController()
  const response = await fetch(`${service.url}/api/v1/runs/stream${query}`, {
    headers: { authorization: `Bearer ${by.token}`, ...headers },
    signal: left.signal,
  })
  let text = ''
  let over = false
  const reading = (async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString()
  })()
    .catch(() => {})
    .then(() => (over = true))
  const events = (name: string) => eventsOf(text).filter(({ event }) => event === name)
  return {
    response,
    /** The statuses of a run, in the order of the events. */
    statuses: (task: string) =>
      events('run')
        .map(({ data }) => data as ObjectRun)
        .filter(({ taskId }) => taskId === task)
        .map(({ status }) => status),
    runs: () => events('run').map(({ data }) => data as ObjectRun),
    position: () => events('position').at(-1)?.id,
    resets: () => events('reset').length,
    over: () => over,
    async [Symbol.asyncDispose]() {
      left.abort()
      await reading
    },
  }
}
const opened = async (stream: Awaited<ReturnType<typeof listen>>) => {
  await until(() => stream.position())
  return stream
}

describe('the stream of runs', () => {
  it('starts with the queued and running runs, and sends each new and changed run', async () => {
    const first = await queued()
    await using stream = await opened(await listen())
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(stream.statuses(first.task)).toEqual(['QUEUED'])
    const second = await queued()
    await until(() => stream.statuses(second.task).length === 1)
    await change(second.task, { state: 'RUNNING', attempt: 1, started_at: new Date() })
    await until(() => stream.statuses(second.task).length === 2)
    await change(second.task, { bytes_read: 7, percentage: 12.5 })
    await until(() => stream.statuses(second.task).length === 3)
    expect(stream.runs().at(-1)).toMatchObject({
      progress: { bytesRead: 7, percentage: 12.5 },
      object: { kind: 'DATA_PIPELINE', id: second.pipeline },
    })
    // Requeued, and claimed again.
    await change(second.task, { state: 'QUEUED' })
    await until(() => stream.statuses(second.task).length === 4)
    await end(second.task)
    await until(() => stream.statuses(second.task).length === 5)
    expect(stream.statuses(second.task)).toEqual(['QUEUED', 'RUNNING', 'RUNNING', 'QUEUED', 'OK'])
    expect(stream.runs().at(-1)).toMatchObject({ message: 'The end.', finished: expect.any(String) })
    expect(stream.statuses(first.task)).toEqual(['QUEUED'])
  })

  it('sends a run that starts and ends between two queries', async () => {
    await using stream = await opened(await listen())
    const workflow = (await owner.post('/workflows').send(workflowBody([])).expect(201)).body.id as string
    const { id } = await service.stack.db
      .selectFrom('workflows')
      .select('id')
      .where('uid', '=', workflow)
      .executeTakeFirstOrThrow()
    const { uid } = await service.stack.db
      .insertInto('runs')
      .values({ client, runnable_id: id, trigger: 'SCHEDULE', state: 'FAILED', finished_at: new Date(), input: '{}' })
      .returning('uid')
      .executeTakeFirstOrThrow()
    await until(() => stream.statuses(uid).length === 1)
    expect(stream.runs().at(-1)).toMatchObject({ status: 'FAILED', object: { kind: 'WORKFLOW', id: workflow } })
  })

  it('resumes after Last-Event-ID with the runs that ended since then', async () => {
    const run = await queued()
    let position: string
    {
      await using stream = await opened(await listen())
      position = stream.position()!
    }
    await end(run.task, 'WARNING')
    await using resumed = await opened(await listen({ headers: { 'last-event-id': position } }))
    expect(resumed.statuses(run.task)).toEqual(['WARNING'])
    expect(resumed.resets()).toBe(0)
    await using fresh = await opened(await listen())
    expect(fresh.statuses(run.task)).toEqual([])
  })

  it('leaves a client that reconnects at random with the state of every run', async () => {
    const runs = await Promise.all(Array.from({ length: 8 }, () => queued()))
    const known = new Map<string, string>()
    let position: string | undefined
    for (let connection = 0; connection < 5; connection += 1) {
      await using stream = await opened(await listen({ headers: position ? { 'last-event-id': position } : {} }))
      const cut = connection < 4 ? 200 + ((connection * 733) % 1_700) : 3_500
      for (const [index, { task }] of runs.entries()) {
        // Each run is claimed in one connection and ends in a later one, partly while no stream is open.
        if (index % 4 === connection) await change(task, { state: 'RUNNING', attempt: 1, started_at: new Date() })
        if (index % 4 === connection - 1) await end(task, index % 2 ? 'OK' : 'FAILED')
      }
      await new Promise((resolve) => setTimeout(resolve, cut))
      for (const { taskId, status } of stream.runs()) known.set(taskId, status)
      position = stream.position()
      const late = runs[connection + 3]
      if (connection < 4 && late) await change(late.task, { state: 'RUNNING', attempt: 2, started_at: new Date() })
    }
    const rows = await service.stack.db
      .selectFrom('runs')
      .select(['uid', 'state'])
      .where(
        'uid',
        'in',
        runs.map(({ task }) => task),
      )
      .execute()
    expect(runs.map(({ task }) => known.get(task))).toEqual(
      runs.map(({ task }) => rows.find(({ uid }) => uid === task)!.state),
    )
  })

  it('sends a reset if the position is older than a day, and ignores text that is not a position', async () => {
    const old = String(Date.now() - 25 * 60 * 60_000)
    await using stream = await opened(await listen({ headers: { 'last-event-id': old } }))
    expect(stream.resets()).toBe(1)
    for (const header of ['nonsense', '1', "'; drop table runs", String(Date.now() + 1e9)]) {
      await using other = await opened(await listen({ headers: { 'last-event-id': header } }))
      expect(other.resets()).toBe(0)
    }
  })

  it('sends only matching runs', async () => {
    const run = await queued()
    const other = await queued()
    await using failures = await opened(await listen({ query: '?status=FAILED&status=WARNING&kind=DATA_PIPELINE' }))
    await using elsewhere = await opened(await listen({ query: '?kind=VIEW' }))
    await using byHand = await opened(await listen({ query: `?trigger=MANUAL&schema=${schema}` }))
    await end(other.task)
    await end(run.task, 'FAILED')
    await until(() => failures.statuses(run.task).length === 1)
    await until(() => byHand.statuses(run.task).length === 2 && byHand.statuses(other.task).length === 2)
    expect(failures.runs().map(({ taskId }) => taskId)).toEqual([run.task])
    expect(elsewhere.runs()).toEqual([])
  })

  it('sends only runs of objects that the caller may see, as the sharing is at that time', async () => {
    const { id: there } = await service.identity.client()
    const stranger = await service.identity.person(there, [...roles])
    await using ours = await opened(await listen({ by: colleague }))
    await using theirs = await opened(await listen({ by: stranger }))
    const run = await queued()
    await change(run.task, { state: 'RUNNING', attempt: 1, started_at: new Date() })
    await using mine = await opened(await listen())
    expect(mine.statuses(run.task)).toEqual(['RUNNING'])
    expect(ours.statuses(run.task)).toEqual([])
    const access = { userAccess: [{ id: colleague.id, access: 'READ' }], userGroupAccess: [] }
    await owner.put(`/data-pipelines/${run.pipeline}/access`).send(access).expect(200)
    await end(run.task)
    await until(() => ours.statuses(run.task).length === 1)
    expect(theirs.runs()).toEqual([])
  })

  it('ends when the caller is deactivated', async () => {
    const { identity } = service
    const leaving = await identity.person(client, ['ROLE_SEE_DATA_PIPELINE'])
    await using stream = await opened(await listen({ by: leaving }))
    await identity.deactivate(leaving)
    await until(() => stream.over())
  })

  it('is refused if too many streams of the organisation are open', async () => {
    const { id } = await service.identity.client()
    const crowd = await service.identity.person(id, ['ROLE_SEE_VIEW'])
    const streams = await Promise.all(Array.from({ length: 50 }, () => listen({ by: crowd })))
    try {
      const refused = await service.as(crowd).get('/runs/stream').expect(503)
      expect(refused.body).toMatchObject({ code: 'busy', detail: expect.stringMatching(/^Close unused streams/) })
      // Other organisations are not affected.
      await using other = await opened(await listen())
      expect(other.response.status).toBe(200)
    } finally {
      for (const stream of streams) await stream[Symbol.asyncDispose]()
    }
    await until(async () => {
      await using again = await listen({ by: crowd })
      return again.response.status === 200
    })
  })

  it('reads the database once a second for all streams, and not at all without streams', async () => {
    const { db, asked } = overheard(service.stack.db)
    const watcher = watchRuns(db, { warn: () => {} })
    const subscriptions = await Promise.all(Array.from({ length: 20 }, () => watcher.subscribe(client)))
    const before = asked.length
    await new Promise((resolve) => setTimeout(resolve, 3_500))
    expect(asked.length - before).toBeGreaterThanOrEqual(1)
    expect(asked.length - before).toBeLessThanOrEqual(4)
    for (const subscription of subscriptions) subscription[Symbol.dispose]()
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    const after = asked.length
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect(asked.length).toBe(after)
    using _again = await watcher.subscribe(client)
    expect(asked.length).toBe(after + 1)
  })
})
