import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request as sendRequest, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-test-runs'
import { until } from '@sluice/testing/wait-until'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from '../api/app-under-test.ts'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'

const loads = isLongRun ? 100 : 10
const bytesPerSecond = 10_000

/** Too large for the buffers of a connection. */
const rows = 400_000
const csv = `id,text\r\n${Array.from({ length: rows }, (_, index) => `${index + 1},${'x'.repeat(40)} ${index}\r\n`).join('')}`

let service: Service
let worker: WorkerProcess
let client: string
let owner: Asking
let token: string
let pipeline: string
beforeAll(async () => {
  service = await startService({ uploadLimit: 100_000_000 })
  worker = await spawnWorker(service.environment)
  client = (await service.identity.client()).id
  const person = await service.identity.person(client, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'])
  token = person.token
  owner = service.as(person)
  const schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
  pipeline = `/data-pipelines/${(await owner.post('/data-pipelines').send(pipelineBody(schema)).expect(201)).body.id}`
  await load(csv)
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
})

/** Returns the milliseconds of the run. */
async function load(text: string): Promise<number> {
  await owner.post(`${pipeline}/file`).type('text/csv').send(text).expect(200)
  await owner.post(`${pipeline}/run`).expect(202)
  const run = await until(
    async () => {
      const { body } = await owner.get(`${pipeline}/runs?pageSize=1`).expect(200)
      return body[0].finished && body[0]
    },
    { within: 60_000 },
  )
  // A load of far fewer rows than before has a warning.
  expect(run.status).toMatch(/^(OK|WARNING)$/)
  return Date.parse(run.finished) - Date.parse(run.started)
}

/** Ends the slow reading now, or when the test fails. */
function hurryWhenDisposed() {
  const hurry = new AbortController()
  const now = () => hurry.abort()
  return { signal: hurry.signal, now, [Symbol.dispose]: now }
}

/** Reads at ten kilobytes a second until `hurry`, and then as fast as possible. */
async function* readSlowly(response: IncomingMessage, hurry: AbortSignal): AsyncGenerator<Buffer> {
  const tickMs = 100
  while (!hurry.aborted) {
    const part = response.read(Math.round((bytesPerSecond * tickMs) / 1_000)) as Buffer | null
    if (part) yield part
    await sleep(tickMs)
  }
  for await (const part of response) yield part as Buffer
}

const readingSessions = async (): Promise<number> => {
  await using superuser = await service.stack.inside(client)
  const { rows: found } = await superuser.query(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and usename like '%\\_read'`,
  )
  return found[0].n
}

describe('a download at 10 kB/s', () => {
  it(
    `delays none of ${loads} loads of its table, and gets all rows of its moment`,
    async () => {
      const alone = await load(csv)
      const call = sendRequest(`${service.url}/api/v1${pipeline}/data?format=csv`, {
        headers: { authorization: `Bearer ${token}` },
      })
      call.end()
      const [response] = (await once(call, 'response')) as [IncomingMessage]
      using hurry = hurryWhenDisposed()
      const hash = createHash('sha256')
      let received = 0
      const downloaded = (async () => {
        for await (const part of readSlowly(response, hurry.signal)) {
          received += part.length
          hash.update(part)
        }
      })()
      // A failed test breaks the connection.
      downloaded.catch(() => {})
      // The warehouse has been read to the end, and no session of a reader is left.
      await until(async () => (await readingSessions()) === 0, { within: 20_000 })
      const durations: number[] = []
      for (let count = 0; count < loads; count += 1) durations.push(await load(`id,text\n${count},later\n`))
      expect((await owner.get(`${pipeline}/data`).expect(200)).body.rows).toEqual([[loads - 1, 'later']])
      expect(received).toBeLessThan(csv.length / 2)
      // A load of one row is quicker than one of 400,000 rows, unless it waits for the reader.
      expect(Math.max(...durations)).toBeLessThan(alone + 5_000)
      hurry.now()
      await downloaded
      expect(response.complete).toBe(true)
      expect(hash.digest('hex')).toBe(createHash('sha256').update(csv).digest('hex'))
    },
    (60 + loads * 5) * 1_000,
  )
})
