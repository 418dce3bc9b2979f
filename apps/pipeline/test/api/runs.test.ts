import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let client: string
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  owner = service.as(await service.identity.person(client, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const newPipeline = async (changes = {}): Promise<string> => {
  const { body } = await owner.post('/data-pipelines').send(pipelineBody(schema, changes)).expect(201)
  return `/data-pipelines/${body.id}`
}
const uploaded = async (changes = {}) => {
  const one = await newPipeline(changes)
  await owner.post(`${one}/file`).type('text/csv').send('a\n1\n').expect(200)
  return one
}

describe('a run', () => {
  it('is refused without a file, or if the pipeline is disabled', async () => {
    const { body } = await owner.post(`${await newPipeline()}/run`).expect(422)
    expect(body).toMatchObject({ code: 'refused', errors: [{ pointer: '/file' }] })
    const disabled = await owner.post(`${await uploaded({ disabled: true })}/run`).expect(422)
    expect(disabled.body.errors[0].pointer).toBe('/disabled')
  })

  it('keeps the file of its start after another upload', async () => {
    const one = await newPipeline()
    const { body: file } = await owner.post(`${one}/file?name=stock.csv`).type('text/csv').send('a\n1\n').expect(200)
    await owner.post(`${one}/run`).expect(202)
    await owner.post(`${one}/file?name=other.csv`).type('text/csv').send('a\n2\n').expect(200)
    const { name, size, sha256, uploaded } = file
    const { body } = await owner.get(`${one}/runs`).expect(200)
    expect(body[0].file).toEqual({ name, size, sha256, uploaded })
    expect(body[0].file.name).toBe('stock.csv')
  })

  it('is created once for concurrent requests while it is queued', async () => {
    const one = await uploaded()
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => owner.post(`${one}/run`).expect(202)))
    expect(new Set(answers.map(({ body }) => body.data.taskId)).size).toBe(1)
    const keys = answers.map(({ body }) => body.messageKey).toSorted()
    expect(keys).toEqual([...Array(4).fill('run.already-running'), 'run.queued'])
    const { body, headers } = await owner.get(`${one}/runs`).expect(200)
    expect(headers['x-total-count']).toBe('1')
    expect(body).toMatchObject([{ status: 'QUEUED', trigger: 'MANUAL', attempt: 0, startedBy: expect.any(String) }])
    const read = await owner.get(one).expect(200)
    expect(read.body.status).toMatchObject({ lastRunStatus: 'QUEUED', taskId: body[0].taskId, tables: [] })
  })

  it('reports its progress while it is running, also in the status of its pipeline', async () => {
    const one = await uploaded()
    const { body } = await owner.post(`${one}/run`).expect(202)
    const change = (values: object) =>
      service.stack.db.updateTable('runs').set(values).where('uid', '=', body.data.taskId).execute()
    const status = async () => (await owner.get(one).expect(200)).body.status
    expect(await status()).not.toHaveProperty('progress')
    const soon = new Date(Date.now() + 60_000)
    const far = { bytes_read: 500, bytes_total: 1_000, rows_read: 50, percentage: 50, bytes_per_second: 10.4 }
    await change({ ...far, state: 'RUNNING', started_at: new Date(), rows_per_second: 1.2, estimated_end: soon })
    const progress = { bytesRead: 500, bytesTotal: 1_000, rowsRead: 50, rowsRejected: 0, percentage: 50 }
    const rates = { rowsPerSecond: 1, bytesPerSecond: 10, estimatedEnd: soon.toISOString() }
    expect((await status()).progress).toEqual({ ...progress, ...rates })
    expect((await owner.get(`${one}/runs`).expect(200)).body[0].progress).toEqual({ ...progress, ...rates })
    await change({ state: 'FAILED', finished_at: new Date() })
    expect(await status()).not.toHaveProperty('progress')
    expect((await owner.get(`${one}/runs`).expect(200)).body[0].progress).not.toHaveProperty('estimatedEnd')
  })

  it('adds its table to the status of its pipeline, with the description of the pipeline', async () => {
    const one = await uploaded({ description: 'Cases by day.' })
    const { body } = await owner.post(`${one}/run`).expect(202)
    const ended = { state: 'OK', finished_at: new Date(), rows_written: 1, bytes_written: 8_192 }
    await service.stack.db.updateTable('runs').set(ended).where('uid', '=', body.data.taskId).execute()
    const { body: read } = await owner.get(one).expect(200)
    expect(read.status.tables).toMatchObject([{ displayName: read.name, description: 'Cases by day.', rowCount: 1 }])
  })

  it('is cancelled at once, after which another run can be started', async () => {
    const one = await uploaded()
    const { body: first } = await owner.post(`${one}/run`).expect(202)
    const { body } = await owner.post(`${one}/cancel`).expect(202)
    expect(body).toMatchObject({
      status: 'OK',
      errorCode: 'OK',
      messageKey: 'run.cancelled',
      data: { taskId: first.data.taskId },
    })
    const { body: runs } = await owner.get(`${one}/runs`).expect(200)
    expect(runs).toMatchObject([{ status: 'CANCELLED', finished: expect.any(String) }])
    const nothing = await owner.post(`${one}/cancel`).expect(422)
    expect(nothing.body.detail).toBe('No run of this pipeline is queued or running. Refresh the list of runs.')
    const { body: second } = await owner.post(`${one}/run`).send({}).expect(202)
    expect(second.data.taskId).not.toBe(first.data.taskId)
  })

  it('prevents the deletion and the move of its pipeline while it is queued', async () => {
    const one = await uploaded()
    await owner.post(`${one}/run`).expect(202)
    const { body } = await owner.delete(one).expect(409)
    expect(body.detail).toContain('Wait for its end, or cancel it.')
    const { body: read } = await owner.get(one).expect(200)
    const target = { ...read.dataWarehouseTarget, tableName: 'elsewhere' }
    await owner
      .put(one)
      .send({ ...read, dataWarehouseTarget: target })
      .expect(422)
    await owner.post(`${one}/cancel`).expect(202)
    await owner
      .put(one)
      .send({ ...read, dataWarehouseTarget: target })
      .expect(200)
    await owner.delete(one).expect(204)
    await owner.get(`${one}/runs`).expect(404)
  })

  it('requires write access to start and cancel, and read access for its history and logs', async () => {
    const one = await uploaded({ access: { publicAccess: 'READ' } })
    const { body } = await owner.post(`${one}/run`).expect(202)
    const reader = service.as(await service.identity.person(client, ['ROLE_MANAGE_DATA_PIPELINE']))
    await reader.post(`${one}/run`).expect(403)
    await reader.post(`${one}/cancel`).expect(403)
    await reader.get(`${one}/runs`).expect(200)
    await reader.get(`${one}/logs`).expect(200)
    await reader.get(`${one}/runs/${body.data.taskId}/rejected-rows`).expect(200, [])
  })

  it('is required before its pipeline has a table or data; an unknown run id gives 404', async () => {
    const one = await uploaded()
    for (const what of ['table', 'data']) {
      const { body } = await owner.get(`${one}/${what}`).expect(404)
      expect(body.detail).toContain('Run the pipeline first')
    }
    await owner.get(`${one}/runs/nonsense/rejected-rows`).expect(404)
    await owner.get(`${one}/runs/${client}/rejected-rows`).expect(404)
  })

  it('refuses invalid values for the mode, the log filters and the page size', async () => {
    const one = await uploaded()
    await owner.post(`${one}/run`).send({ mode: 'HALF' }).expect(400)
    await owner.get(`${one}/logs?logLevel=LOUD`).expect(400)
    await owner.get(`${one}/data?pageSize=10001`).expect(400)
    await owner.get(`${one}/logs?logLevel=ERROR&logImportance=HIGH&order=ASC&page=2`).expect(200, [])
  })
})
