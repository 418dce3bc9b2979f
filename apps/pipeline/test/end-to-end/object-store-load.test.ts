import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { describeUnless } from '@sluice/testing/skip-tests'
import { kindsOfStores, type TestStore } from '@sluice/connectors/testing/test-stores'
import { type Asking, pipelineBody, schemaBody, type Service, startService } from '../api/app-under-test.ts'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'

let service: Service
let owner: Asking
let worker: WorkerProcess
let schema: string

beforeAll(async () => {
  service = await startService()
  worker = await spawnWorker({ ...service.environment, OUTGOING_ALLOWED: '127.0.0.1' })
  const { id } = await service.identity.client()
  owner = service.as(await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
})

/** Runs a pipeline and waits until that is over. */
async function run(id: string) {
  const { body: before } = await owner.get(`/data-pipelines/${id}/runs`).expect(200)
  await owner.post(`/data-pipelines/${id}/run`).expect(202)
  return until(async () => {
    const { body } = await owner.get(`/data-pipelines/${id}/runs`).expect(200)
    return body.length > before.length && body[0].finished && body[0]
  })
}

for (const { name, missing, start, type, isSlow } of kindsOfStores)
  describeUnless(missing ?? (isSlow ? longRunOnly : undefined))(name, () => {
    let store: TestStore
    beforeAll(async () => {
      store = await start()
    })
    afterAll(() => store?.[Symbol.asyncDispose]())

    it('is tested, previewed and loaded, and no response or log contains its secrets', async () => {
      await store.put('reports/2026.csv', 'id,name\n1,Oslo\n2,Bergen\n')
      const { settings, secrets } = store.reading('reports/')
      const [field] = Object.keys(settings as object) as [string]
      const { [field]: source, ...what } = settings as Record<string, object>
      const own = { type, ...what, [field]: { ...source, ...secrets } }

      const { body: tried } = await owner.post('/data-pipelines/test-connection').send(own).expect(200)
      expect(tried).toMatchObject({ status: 'OK' })
      const { body: preview } = await owner.post('/data-pipelines/preview').send(own).expect(200)
      expect(preview).toMatchObject({ height: 2, complete: true })

      const body = pipelineBody(schema, own)
      const { body: made } = await owner.post('/data-pipelines').send(body).expect(201)
      expect(await run(made.id)).toMatchObject({ status: 'OK', rowsWritten: 2 })
      await store.remove('reports/2026.csv')
      const failed = await run(made.id)
      expect(failed).toMatchObject({ status: 'FAILED', errorCode: 'NO_OBJECTS' })
      const { text: logs } = await owner.get(`/data-pipelines/${made.id}/logs`).expect(200)
      for (const said of [logs, JSON.stringify([tried, preview, made, failed])])
        for (const secret of Object.values(secrets)) expect(said).not.toContain(secret)
    })
  })
