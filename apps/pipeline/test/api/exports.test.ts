import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { tableFromIPC } from 'apache-arrow'
import { request as sendRequest } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { until } from '@sluice/testing/wait-until'
import pg from 'pg'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { viewBody } from './view-fixtures.ts'

const rows = 20_000
const csv = `id,name,price\r\n${Array.from({ length: rows }, (_, index) => `${index + 1},"name ${index}",${index}.25\r\n`).join('')}`

let service: Service
let worker: WorkerProcess
let client: string
let owner: Asking
let token: string
let pipeline: string
beforeAll(async () => {
  service = await startService({ uploadLimit: 20_000_000, exportSilenceMs: 5_000 })
  worker = await spawnWorker(service.environment)
  client = (await service.identity.client()).id
  const person = await service.identity.person(client, [
    'ROLE_MANAGE_SCHEMA',
    'ROLE_MANAGE_DATA_PIPELINE',
    'ROLE_MANAGE_VIEW',
  ])
  token = person.token
  owner = service.as(person)
  const schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body
  const target = { schema: { id: schema.id }, tableName: 'cases' }
  const { body } = await owner
    .post('/data-pipelines')
    .send(pipelineBody(schema.id, { name: 'Fälle 2026', dataWarehouseTarget: target }))
    .expect(201)
  pipeline = `/data-pipelines/${body.id}`
  await load(csv)
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
})

async function load(text: string) {
  await owner.post(`${pipeline}/file`).type('text/csv').send(text).expect(200)
  await owner.post(`${pipeline}/run`).expect(202)
  const { body } = await until(async () => {
    const answer = await owner.get(`${pipeline}/runs`).expect(200)
    return answer.body[0].finished && answer
  })
  expect(body[0]).toMatchObject({ status: 'OK' })
}

interface Downloaded {
  status: number
  headers: Record<string, string | undefined>
  body: Buffer
  /** Whether the response ended as HTTP requires. */
  complete: boolean
}

/** Downloads with plain HTTP. `stopAfter` breaks the connection after that many bytes. */
function download(path: string, headers: Record<string, string> = {}, stopAfter = Number.POSITIVE_INFINITY) {
  return new Promise<Downloaded>((resolve, reject) => {
    const call = sendRequest(
      `${service.url}/api/v1${path}`,
      { headers: { authorization: `Bearer ${token}`, ...headers } },
      (response) => {
        const parts: Buffer[] = []
        let length = 0
        const end = () =>
          resolve({
            status: response.statusCode!,
            headers: response.headers as Downloaded['headers'],
            body: Buffer.concat(parts),
            complete: response.complete,
          })
        response.on('data', (part: Buffer) => {
          parts.push(part)
          length += part.length
          if (length >= stopAfter) call.destroy()
        })
        response.on('end', end)
        response.on('error', end)
      },
    )
    call.on('error', (error) => (stopAfter < Number.POSITIVE_INFINITY ? undefined : reject(error)))
    call.end()
  })
}

const audited = async () =>
  (
    await service.stack.db
      .selectFrom('audit')
      .select(['operation', 'details'])
      .where('operation', '=', 'dataPipelines.data')
      .orderBy('id', 'desc')
      .execute()
  ).map(({ details }) => details)

describe('the field dataDownload of a pipeline', () => {
  it('says whether an export has rows', async () => {
    const { body: loaded } = await owner.get(pipeline).expect(200)
    const { schema } = loaded.dataWarehouseTarget
    const target = { schema: { id: schema.id }, tableName: 'cases_to_come' }
    const { body: fresh } = await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema.id, { dataWarehouseTarget: target }))
      .expect(201)
    const { body: listed } = await owner.get(`/data-pipelines?filter=id:in:[${loaded.id},${fresh.id}]`).expect(200)
    for (const { id, dataDownload } of [loaded, fresh, ...listed]) {
      const { status } = await download(`/data-pipelines/${id}/data?format=csv`)
      expect([id, dataDownload]).toEqual([id, status === 200])
    }
    expect([loaded.dataDownload, fresh.dataDownload, listed.length]).toEqual([true, false, 2])
  })

  it('is false for a single pipeline whose table is missing in the warehouse', async () => {
    await using inside = await service.stack.inside(client)
    const { body: before } = await owner.get(pipeline).expect(200)
    const { schema, tableName } = before.dataWarehouseTarget
    await inside.query(`alter table ${schema.schemaName}.${tableName} rename to elsewhere`)
    try {
      expect((await owner.get(pipeline).expect(200)).body.dataDownload).toBe(false)
      expect((await download(`${pipeline}/data?format=csv`)).status).toBe(404)
    } finally {
      await inside.query(`alter table ${schema.schemaName}.elsewhere rename to ${tableName}`)
    }
  })
})

describe('an export of loaded rows', () => {
  it('is a page of JSON unless the request prefers a file', async () => {
    for (const accept of ['*/*', 'application/json', 'text/html, application/json;q=0.9, */*;q=0.1'])
      expect((await owner.get(`${pipeline}/data?pageSize=2`).set('accept', accept).expect(200)).body.rows).toHaveLength(
        2,
      )
  })

  it.each([
    ['the Accept header', '', { accept: 'text/csv' }],
    ['?format', '?format=csv', {}],
  ])('is all rows as CSV, by %s', async (_how, query, headers) => {
    const { status, headers: found, body } = await download(`${pipeline}/data${query}`, headers)
    expect([status, found['content-type']]).toEqual([200, 'text/csv; charset=utf-8; header=present'])
    expect(found['content-disposition']).toBe(
      `attachment; filename="F_lle 2026.csv"; filename*=UTF-8''F%C3%A4lle%202026.csv`,
    )
    expect(body.toString()).toBe(csv.replaceAll('"', ''))
    expect((await audited())[0]).toMatchObject({ format: 'csv', rows, outcome: 'OK', name: 'cases' })
  })

  it('loads back as the same table', async () => {
    const { body } = await download(`${pipeline}/data?format=csv`)
    const before = (await owner.get(`${pipeline}/data?pageSize=10000&page=2`).expect(200)).body
    await load(body.toString())
    const after = (await owner.get(`${pipeline}/data?pageSize=10000&page=2`).expect(200)).body
    expect([
      after.columns.map(({ name, dataType }: { name: string; dataType: string }) => [name, dataType]),
      after.rows,
    ]).toEqual([
      before.columns.map(({ name, dataType }: { name: string; dataType: string }) => [name, dataType]),
      before.rows,
    ])
  })

  it('is NDJSON, Parquet, Arrow or a workbook', async () => {
    const lines = (await download(`${pipeline}/data?format=ndjson`)).body.toString().trimEnd().split('\n')
    expect([lines.length, JSON.parse(lines[1]!)]).toEqual([rows, { id: 2, name: 'name 1', price: 1.25 }])
    const arrow = tableFromIPC((await download(`${pipeline}/data?format=arrow`)).body)
    expect([arrow.numRows, arrow.getChild('name')!.get(5)]).toEqual([rows, 'name 5'])
    const parquet = await download(`${pipeline}/data`, { accept: 'application/vnd.apache.parquet' })
    expect(parquet.body.subarray(0, 4).toString() + parquet.body.subarray(-4).toString()).toBe('PAR1PAR1')
    const workbook = await download(`${pipeline}/data?format=xlsx`)
    expect(workbook.body.subarray(0, 2).toString()).toBe('PK')
  })

  it('has the same headers for HEAD, which reads no rows', async () => {
    const before = (await audited()).length
    const head = (path: string) =>
      service.http.head(`/api/v1${path}`).set('authorization', `Bearer ${token}`).set('accept-encoding', 'identity')
    const { headers } = await head(`${pipeline}/data?format=csv`).expect(200)
    const { headers: same } = await download(`${pipeline}/data?format=csv`)
    for (const name of ['content-type', 'content-disposition', 'accept-ranges'])
      expect([name, headers[name]]).toEqual([name, same[name]])
    await head(`${pipeline}/data?format=xml`).expect(406)
    await head(`${pipeline.slice(0, -1)}/data?format=csv`).expect(404)
    expect(await audited()).toHaveLength(before + 1)
  })

  it('is compressed for clients that accept gzip', async () => {
    const { headers, body } = await download(`${pipeline}/data?format=csv`, { 'accept-encoding': 'gzip' })
    expect(headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(body).toString()).toBe(csv.replaceAll('"', ''))
  })

  it('continues where a client lost the connection, if its bytes are still there', async () => {
    const begun = await download(`${pipeline}/data?format=csv`, {}, 100_000)
    expect(begun.complete).toBe(false)
    const first = begun.body.subarray(0, 100_000)
    const etag = begun.headers['etag']!
    const beyond = await download(`${pipeline}/data?format=csv`, { range: 'bytes=99999999-', 'if-range': etag })
    expect(beyond.status).toBe(416)
    const rest = await download(`${pipeline}/data?format=csv`, { range: 'bytes=100000-', 'if-range': etag })
    expect([rest.status, rest.headers['content-range']]).toEqual([
      206,
      expect.stringMatching(/^bytes 100000-\d+\/\d+$/),
    ])
    expect(Buffer.concat([first, rest.body]).toString()).toBe(csv.replaceAll('"', ''))
  })

  it('starts at its first byte again if nothing of it is left, and never continues compressed bytes', async () => {
    const path = `${pipeline}/data?format=csv&dialect=rfc4180`
    const again = await download(path, { range: 'bytes=100000-' })
    expect([again.status, again.body.toString() === csv.replaceAll('"', '')]).toEqual([200, true])
    const zipped = await download(path, { range: 'bytes=100-', 'accept-encoding': 'gzip' })
    expect([zipped.status, zipped.headers['accept-ranges']]).toEqual([200, 'none'])
    expect(gunzipSync(zipped.body).toString()).toBe(csv.replaceAll('"', ''))
  })

  it('is refused for an unknown format, a page of a file, and Excel without CSV', async () => {
    expect((await owner.get(`${pipeline}/data?format=xml`).expect(406)).body).toMatchObject({
      detail: expect.stringContaining('json, ndjson, csv, parquet, arrow, xlsx'),
    })
    await owner.get(`${pipeline}/data`).set('accept', 'application/xml').expect(406)
    await owner.get(`${pipeline}/data?format=csv&page=2`).expect(422)
    await owner.get(`${pipeline}/data?format=parquet&dialect=excel`).expect(422)
    await owner.get(`${pipeline}/data?format=csv&dialect=word`).expect(400)
  })
})

describe('an export of rejected rows', () => {
  it('has them all, in the order of the file', async () => {
    await owner.post(`${pipeline}/file`).type('text/csv').send('id,name,price\n1,a,1.25\n2,"b,2.25\n').expect(200)
    await owner.post(`${pipeline}/run`).expect(202)
    const { body } = await until(async () => {
      const answer = await owner.get(`${pipeline}/runs`).expect(200)
      return answer.body[0].finished && answer
    })
    const path = `${pipeline}/runs/${body[0].taskId}/rejected-rows`
    const page = (await owner.get(path).expect(200)).body as {
      line: number
      column?: string | null
      reason: string
      raw: string
    }[]
    expect(page.length).toBeGreaterThan(0)
    const lines = (await download(path, { accept: 'application/x-ndjson' })).body.toString().trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      page.map(({ line, column = null, reason, raw }) => ({ line, column, reason, raw })),
    )
    const missing = path.replace(/runs\/[^/]+/, 'runs/00000000-0000-4000-8000-000000000000')
    await owner.get(`${missing}?format=csv`).expect(404)
    await load(csv)
  })
})

describe('an export of a table of the catalogue', () => {
  it('needs the role that reads all data', async () => {
    const schema = (await owner.get('/schemas').expect(200)).body[0]
    const path = `/schemas/${schema.id}/tables/cases/data?format=csv`
    await owner.get(path).expect(403)
    const reader = service.as(await service.identity.person(client, ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE']))
    const { text } = await reader.get(path).buffer().expect(200)
    expect(text.split('\r\n')).toHaveLength(rows + 2)
    await reader.get(path.replace('cases', 'missing')).expect(404)
  })
})

describe('an export of a view', () => {
  it('ends with a broken connection if the query fails after the first rows', async () => {
    const schema = (await owner.get('/schemas').expect(200)).body[0]
    const { body: view } = await owner
      .post('/views')
      .send(viewBody(schema.id, `select id, name, 1 / (id - ${rows}) as n from cases where id > 0`))
      .expect(201)
    const { status, complete, body } = await download(`/views/${view.id}/data?format=csv`)
    expect([status, complete]).toEqual([200, false])
    expect(body.toString().startsWith('id,name,n\r\n1,name 0,0\r\n')).toBe(true)
    expect(service.log()).toContain('a download broke off')
  })

  it('ends with a broken connection if the warehouse stalls between two rows, and the query ends there', async () => {
    const schema = (await owner.get('/schemas').expect(200)).body[0]
    const query = `select id, repeat(name, 1000) as text, case when id = 1000 then pg_sleep(600)::text end as slept from cases where id > 0`
    const { body: view } = await owner
      .post('/views')
      .send(viewBody(schema.id, query, { dataWarehouseViewName: 'stalls_here' }))
      .expect(201)
    const server = new pg.Client(process.env['TEST_DATABASE_URL'])
    await server.connect()
    const countSleeping = async () => {
      const { rows } = await server.query(
        "select from pg_stat_activity where wait_event = 'PgSleep' and query like 'copy%stalls_here%'",
      )
      return rows.length
    }
    const downloaded = download(`/views/${view.id}/data?format=csv`)
    await until(async () => (await countSleeping()) === 1, { within: 20_000 })
    const { status, complete, body } = await downloaded
    expect([status, complete, body.length > 1_000]).toEqual([200, false, true])
    expect(await countSleeping()).toBe(0)
    await server.end()
  })
})
