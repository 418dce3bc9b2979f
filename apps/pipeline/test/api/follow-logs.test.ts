import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Run } from '@sluice/contracts'
import { until } from '@sluice/testing/wait-until'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { eventsOf, type Received } from './parse-server-sent-events.ts'

let service: Service
let person: Person
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  person = await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'])
  owner = service.as(person)
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

/** A pipeline with a queued run, and its keys in the database. */
async function queued() {
  const pipeline = (await owner.post('/data-pipelines').send(pipelineBody(schema)).expect(201)).body.id as string
  const again = async () => {
    const { body } = await owner.post(`/data-pipelines/${pipeline}/run`).expect(202)
    const row = await service.stack.db
      .selectFrom('runs')
      .select(['id', 'runnable_id'])
      .where('uid', '=', body.data.taskId)
      .executeTakeFirstOrThrow()
    return { task: body.data.taskId as string, run: row.id, runnable_id: row.runnable_id }
  }
  await owner.post(`/data-pipelines/${pipeline}/file`).type('text/csv').send('a\n1\n').expect(200)
  return { pipeline, again, ...(await again()) }
}

const change = (run: number, values: object) =>
  service.stack.db.updateTable('runs').set(values).where('id', '=', run).execute()
const write = (run: { run: number; runnable_id: number }, ...messages: string[]) =>
  service.stack.db
    .insertInto('run_logs')
    .values(
      messages.map((message) => ({
        run_id: run.run,
        runnable_id: run.runnable_id,
        level: message.startsWith('!') ? 'WARN' : 'INFO',
        importance: 'LOW',
        message,
      })),
    )
    .execute()

/** Opens a stream; `events` are those that have come so far. */
async function listen(pipeline: string, { query = '', headers = {} } = {}) {
  const left = new AbortController()
  const response = await fetch(`${service.url}/api/v1/data-pipelines/${pipeline}/logs/stream${query}`, {
    headers: { authorization: `Bearer ${person.token}`, ...headers },
    signal: left.signal,
  })
  let text = ''
  let over = false
  const reading = (async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString()
  })()
    .catch(() => {})
    .then(() => (over = true))
  return {
    response,
    events: (name: string): Received[] => eventsOf(text).filter(({ event }) => event === name),
    over: () => over,
    async [Symbol.asyncDispose]() {
      left.abort()
      await reading
    },
  }
}
const messages = (events: Received[]) => events.map(({ data }) => data.message)

describe('the log stream', () => {
  it('sends the existing lines, then each new line and each change of the run', async () => {
    const run = await queued()
    await write(run, 'one', 'two')
    await using stream = await listen(run.pipeline)
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(stream.response.headers.get('cache-control')).toBe('no-store')
    await until(() => stream.events('log').length === 2)
    await until(() => stream.events('run').length === 1)
    expect(stream.events('log')[0]).toMatchObject({
      id: expect.any(String),
      data: { taskId: run.task, message: 'one', dataPipeline: run.pipeline },
    })
    await write(run, 'three')
    await change(run.run, { state: 'RUNNING', started_at: new Date(), bytes_read: 7, percentage: 12.5 })
    await until(() => stream.events('log').length === 3 && stream.events('run').length === 2)
    const [first, second] = stream.events('run').map(({ data }) => data as Run)
    expect([first!.status, second!.status, second!.progress.percentage]).toEqual(['QUEUED', 'RUNNING', 12.5])
  })

  it('resumes after Last-Event-ID without missing or repeated lines', async () => {
    const run = await queued()
    await write(run, ...Array.from({ length: 1_200 }, (_, index) => `line ${index}`))
    const seen: string[] = []
    let last = ''
    for (const most of [3, 700, 1_200]) {
      await using stream = await listen(run.pipeline, { headers: last ? { 'last-event-id': last } : {} })
      await until(() => stream.events('log').length >= Math.min(most, 1_200 - seen.length))
      const part = stream.events('log').slice(0, most)
      seen.push(...messages(part))
      last = part.at(-1)!.id!
    }
    expect(seen).toEqual(Array.from({ length: 1_200 }, (_, index) => `line ${index}`))
  })

  it('of one run ends when the run has ended, and contains no line of another run', async () => {
    const run = await queued()
    await write(run, 'of the first')
    await change(run.run, { state: 'FAILED', finished_at: new Date(), message: 'No.', percentage: 40 })
    const other = await run.again()
    await write(other, 'of the second')
    await using stream = await listen(run.pipeline, { query: `?taskId=${run.task}` })
    await until(() => stream.over())
    expect(messages(stream.events('log'))).toEqual(['of the first'])
    expect(stream.events('run').map(({ data }) => data.status)).toEqual(['FAILED'])
    await using newest = await listen(run.pipeline)
    await until(() => newest.events('log').length > 0)
    expect(messages(newest.events('log'))).toEqual(['of the second'])
  })

  it('sends only lines of the requested level', async () => {
    const run = await queued()
    await write(run, 'one', '!two', 'three', '!four')
    await using stream = await listen(run.pipeline, { query: '?logLevel=WARN' })
    await until(() => stream.events('log').length === 2)
    expect(messages(stream.events('log'))).toEqual(['!two', '!four'])
  })

  it('ends when the pipeline is deleted', async () => {
    const run = await queued()
    await using stream = await listen(run.pipeline)
    await until(() => stream.events('run').length === 1)
    await service.stack.db.deleteFrom('data_pipelines').where('uid', '=', run.pipeline).execute()
    await until(() => stream.over())
  })

  it('returns 404 if the run belongs to another pipeline', async () => {
    const { pipeline } = await queued()
    const other = await queued()
    await owner.get(`/data-pipelines/${pipeline}/logs/stream?taskId=${other.task}`).expect(404)
  })
})
