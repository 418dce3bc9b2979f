import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdir, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { catalogueClient } from '../../src/warehouses/public-dataset-owner.ts'
import { until } from '@sluice/testing/wait-until'
import type { Person } from '../join-shared-identity-service.ts'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { loadedPlace, viewBody, type LoadedPlace } from './view-fixtures.ts'

const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VIEW'] as const

interface Organisation {
  client: string
  person: Person
  ask: Asking
  place: LoadedPlace
}

let service: Service
let greedy: Organisation
let other: Organisation
beforeAll(async () => {
  service = await startService({ clientLimit: 2_000 })
  greedy = await organisation()
  other = await organisation()
})
afterAll(() => service?.stop())

async function organisation(): Promise<Organisation> {
  const { id: client } = await service.identity.client()
  const person = await service.identity.person(client, [...roles])
  const ask = service.as(person)
  return { client, person, ask, place: await loadedPlace(service, ask, client) }
}

/** A plain view whose every page takes so many seconds. */
const slowView = async ({ ask, place }: Organisation, seconds: number, changes: object = {}): Promise<string> => {
  const query = `select id, pg_sleep(${seconds / 3})::text as slept from ${place.table}`
  const { body } = await ask
    .post('/views')
    .send(viewBody(place.schema, query, changes))
    .expect(201)
  return body.id
}
const milliseconds = async (work: () => PromiseLike<unknown>): Promise<number> => {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}
/** Queries of the organisation's warehouse that the server is at. */
const atWork = async ({ client }: Organisation): Promise<number> => {
  await using superuser = await service.stack.inside(client)
  const { rows } = await superuser.query(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and usename like '%\\_read' and state = 'active'`,
  )
  return rows[0].n
}
/** A request that its caller gives up. */
const abandon = (path: string, token?: string) => {
  const sent = request(`${service.url}/api/v1${path}`, { headers: token ? { authorization: `Bearer ${token}` } : {} })
  sent.on('error', () => {})
  sent.end()
  return sent
}

describe('pages of data', () => {
  it('of one organisation do not use up the slots of another', async () => {
    const slow = await slowView(greedy, 6)
    const flood = Array.from({ length: 30 }, () => greedy.ask.get(`/views/${slow}/data`).then(({ status }) => status))
    await until(async () => (await atWork(greedy)) >= 3)
    const took = await milliseconds(() => other.ask.get(`/data-pipelines/${other.place.pipeline}/data`).expect(200))
    expect(took).toBeLessThan(3_000)
    // Refused before any look-up: a page of a view that does not exist would be a 404.
    await greedy.ask.get('/views/abcdefghijk/data').expect(503)
    const statuses = await Promise.all(flood)
    expect(new Set(statuses)).toEqual(new Set([200, 503]))
  })

  it('are cancelled if the client disconnects, both queued and running', async () => {
    const slow = await slowView(greedy, 25)
    const sent = Array.from({ length: 6 }, () => abandon(`/views/${slow}/data`, greedy.person.token))
    await until(async () => (await atWork(greedy)) >= 3)
    for (const one of sent) one.destroy()
    await until(async () => (await atWork(greedy)) === 0, { within: 6_000 })
    await greedy.ask.get(`/data-pipelines/${greedy.place.pipeline}/data`).expect(200)
  })
})

describe('pages of open data', () => {
  const open = { anonymousAccess: { metadata: true, data: true } }

  it('are read one at a time for each organisation, and leave slots for its own users', async () => {
    const slow = await slowView(greedy, 3, open)
    const flood = Array.from({ length: 12 }, (_, at) =>
      service.http.get(`/api/v1/public/views/${slow}/data?page=${at + 1}`).then(({ status }) => status),
    )
    await until(async () => (await atWork(greedy)) >= 1)
    const seen: number[] = []
    for (let look = 0; look < 5; look += 1) {
      seen.push(await atWork(greedy))
      await other.ask.get(`/data-pipelines/${other.place.pipeline}/data`).expect(200)
      await greedy.ask.get(`/data-pipelines/${greedy.place.pipeline}/data`).expect(200)
    }
    expect(Math.max(...seen)).toBe(1)
    expect(new Set(await Promise.all(flood))).toEqual(new Set([200, 503]))
  })

  it('are cancelled after five seconds, or if all waiting clients disconnect', async () => {
    const slow = await slowView(greedy, 20, open)
    await until(async () => (await atWork(greedy)) === 0)
    const { body } = await service.http.get(`/api/v1/public/views/${slow}/data`).expect(422)
    expect(body.code).toBe('query-timeout')
    const two = [abandon(`/public/views/${slow}/data`), abandon(`/public/views/${slow}/data`)]
    await until(async () => (await atWork(greedy)) === 1)
    two[0]!.destroy()
    two[1]!.destroy()
    await until(async () => (await atWork(greedy)) === 0, { within: 3_000 })
  })
})

describe('saves of views', () => {
  it('hold no database connection of the service while the warehouse runs their query', async () => {
    const query = `select id, pg_sleep(1)::text as slept from ${greedy.place.table}`
    const saving = Array.from({ length: 14 }, () =>
      greedy.ask
        .post('/views')
        .send(viewBody(greedy.place.schema, query, { materialized: true }))
        .then(({ status }) => status),
    )
    await until(async () => {
      await using superuser = await service.stack.inside(greedy.client)
      const { rows } = await superuser.query(
        `select count(*)::int as n from pg_stat_activity where datname = current_database() and query like '%pg_sleep(1)%' and pid <> pg_backend_pid()`,
      )
      return rows[0].n > 0
    })
    for (let look = 0; look < 4; look += 1) {
      expect(await milliseconds(() => other.ask.get('/views').expect(200))).toBeLessThan(2_000)
      expect(await milliseconds(() => other.ask.get('/data-pipelines').expect(200))).toBeLessThan(2_000)
      await service.http.get('/health/ready').expect(200)
    }
    expect(new Set(await Promise.all(saving))).toEqual(new Set([201, 503]))
  })

  it('sent concurrently leave in the warehouse the version that is stored', async () => {
    const { ask, place } = other
    const made = viewBody(place.schema, 'select 1 as a')
    const { body: view } = await ask.post('/views').send(made).expect(201)
    const { db } = service.stack
    // Between the look at the view and its lock: somebody else's change.
    const changed = { ...view, query: 'select 2 as a' }
    const both = await Promise.all([
      ask.put(`/views/${view.id}`).set('If-Match', '"1"').send(changed),
      ask
        .put(`/views/${view.id}`)
        .set('If-Match', '"1"')
        .send({ ...view, query: 'select 3 as a' }),
    ])
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412])
    const stored = await db.selectFrom('views').select('query').where('uid', '=', view.id).executeTakeFirstOrThrow()
    const { body: data } = await ask.get(`/views/${view.id}/data`).expect(200)
    expect(`select ${data.rows[0][0]} as a`).toBe(stored.query)
  })
})

describe('uploads', () => {
  const upload = ({ ask, place }: Organisation, content: string) =>
    ask.post(`/data-pipelines/${place.pipeline}/file`).type('text/csv').send(content)
  const files = () => readdir(join(service.stack.filesDirectory, 'uploads'))

  it('delete the replaced file at once', async () => {
    await upload(other, 'a\n1\n').expect(200)
    const before = await files()
    for (let at = 0; at < 5; at += 1) await upload(other, `a\n${at}\n`).expect(200)
    expect(await files()).toHaveLength(before.length)
  })

  it('keep the replaced file if a queued run reads it', async () => {
    await upload(greedy, 'a\n1\n').expect(200)
    await greedy.ask.post(`/data-pipelines/${greedy.place.pipeline}/run`).expect(202)
    const before = await files()
    await upload(greedy, 'a\n2\n').expect(200)
    expect(await files()).toHaveLength(before.length + 1)
  })

  it('of one organisation are refused above its limit', async () => {
    await upload(other, `a\n${'x'.repeat(1_500)}\n`).expect(200)
    const { body } = await upload(other, `a\n${'x'.repeat(1_500)}\n`).expect(422)
    expect(body.code).toBe('files-limit-reached')
    await upload(greedy, 'a\n3\n').expect(200)
  })
  it('count retained files, and files that queued runs read, in the limit of the organisation', async () => {
    const { db } = service.stack
    const retaining = await organisation()
    const { client, ask, place } = retaining
    await db.insertInto('settings').values({ client, key: 'RETAIN_TEMP_FILES', value: 'true' }).execute()
    await upload(retaining, 'x'.repeat(900)).expect(200)
    for (const _twice of [1, 2]) {
      await ask.post(`/data-pipelines/${place.pipeline}/run`).expect(202)
      await db
        .updateTable('runs')
        .set({ state: 'OK', finished_at: new Date() })
        .where('client', '=', client)
        .where('state', '=', 'QUEUED')
        .execute()
    }
    // The file counts once, although the pipeline and two runs reference it.
    await upload(retaining, 'x'.repeat(800)).expect(200)
    expect((await upload(retaining, 'x'.repeat(400)).expect(422)).body.code).toBe('files-limit-reached')
    await db.updateTable('settings').set({ value: 'false' }).where('client', '=', client).execute()
    await upload(retaining, 'x'.repeat(400)).expect(200)
    // A queued run still reads its file after the file was replaced.
    await upload(retaining, 'x'.repeat(1_200)).expect(200)
    await ask.post(`/data-pipelines/${place.pipeline}/run`).expect(202)
    await upload(retaining, 'x'.repeat(400)).expect(200)
    await upload(retaining, 'x'.repeat(500)).expect(422)
  })

  it.each([
    ['has announced', { 'content-length': 1_500 }],
    ['has sent', {}],
  ])('count in the limit what a concurrent upload %s', async (_what, headers) => {
    const busy = await organisation()
    const first = request(`${service.url}/api/v1/data-pipelines/${busy.place.pipeline}/file`, {
      method: 'POST',
      headers: { authorization: `Bearer ${busy.person.token}`, 'content-type': 'text/csv', ...headers },
    })
    const answered = once(first, 'response')
    first.write('x'.repeat(1_499))
    const folder = join(service.stack.filesDirectory, 'uploads')
    await until(async () => {
      const partial = (await files()).find((name) => name.endsWith('.partial'))
      return partial !== undefined && (await stat(join(folder, partial))).size === 1_499
    })
    expect((await upload(busy, 'x'.repeat(502)).expect(422)).body.code).toBe('files-limit-reached')
    first.end('x')
    expect((await answered)[0].statusCode).toBe(200)
    await upload(busy, 'x'.repeat(500)).expect(200)
    await upload(busy, 'x'.repeat(1_500)).expect(200)
  })

  it('count in the limit the uploads of other processes, unless these have stopped renewing', async () => {
    const { db } = service.stack
    const busy = await organisation()
    const uid = randomUUID()
    await db.insertInto('running_uploads').values({ uid, client: busy.client, bytes: 1_900 }).execute()
    expect((await upload(busy, 'x'.repeat(200)).expect(422)).body.code).toBe('files-limit-reached')
    await upload(other, 'a\n1\n').expect(200)
    // The process died without deleting its row.
    await db
      .updateTable('running_uploads')
      .set({ renewed_at: new Date(Date.now() - 200_000) })
      .where('uid', '=', uid)
      .execute()
    await upload(busy, 'x'.repeat(200)).expect(200)
    expect(await db.selectFrom('running_uploads').select('uid').execute()).toEqual([])
  })

  it('of public datasets count in the limit of the publishing organisation', async () => {
    const { id: client } = await service.identity.client({ domain: 'PUBLIC_DATASET_CATALOG' })
    const publisher = await service.identity.person(client, ['ROLE_MANAGE_PUBLIC_DATASET_CATALOG'])
    const publish = (bytes: number) =>
      service
        .as(publisher)
        .post('/public-datasets?wait=0')
        .field('key', `cases_${randomBytes(4).toString('hex')}`)
        .field('name', 'Cases')
        .attach('file', Buffer.from(`a\n${'x'.repeat(bytes)}\n`), 'cases.csv')
    await publish(1_000).expect(201)
    // The run that loads the file counts it too.
    for (const state of ['QUEUED', 'OK']) {
      const ended = { state, finished_at: state === 'OK' ? new Date() : null }
      await service.stack.db.updateTable('runs').set(ended).where('client', '=', catalogueClient).execute()
      expect((await publish(1_000).expect(422)).body.code).toBe('files-limit-reached')
    }
    await upload(other, 'a\n1\n').expect(200)
  })

  it('without Content-Length are refused if they exceed the limit', async () => {
    const busy = await organisation()
    const before = await files()
    const sent = request(`${service.url}/api/v1/data-pipelines/${busy.place.pipeline}/file`, {
      method: 'POST',
      headers: { authorization: `Bearer ${busy.person.token}`, 'content-type': 'text/csv' },
    })
    const answered = once(sent, 'response')
    sent.write('x'.repeat(1_000))
    sent.end('x'.repeat(1_001))
    expect((await answered)[0].statusCode).toBe(422)
    expect(await files()).toEqual(before)
    await upload(busy, 'x'.repeat(2_000)).expect(200)
  })
})
