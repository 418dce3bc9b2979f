import { afterAll, beforeAll } from '@jest/globals'
import type { Role } from '@sluice/contracts'
import { until } from '@sluice/testing/wait-until'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { type Asking, pipelineBody, schemaBody, type Service, startService } from './app-under-test.ts'

/** A service with a worker for all tests of a file, and in it an owner with these roles who loads files into a schema. */
export function fileLoadsUnderTest(roles: readonly Role[]) {
  let service: Service
  let worker: WorkerProcess
  let person: Asking
  let schema: string
  beforeAll(async () => {
    service = await startService()
    worker = await spawnWorker(service.environment)
    const { id } = await service.identity.client()
    person = service.as(
      await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', ...roles]),
    )
    schema = (await person.post('/schemas').send(schemaBody()).expect(201)).body.id
  })
  afterAll(async () => {
    await worker?.[Symbol.asyncDispose]()
    await service?.stop()
  })
  const owner: Asking = {
    get: (path) => person.get(path),
    post: (path) => person.post(path),
    put: (path) => person.put(path),
    delete: (path) => person.delete(path),
    patch: (path) => person.patch(path),
  }
  return {
    owner,
    get schema() {
      return schema
    },
    /** Creates a pipeline. Returns its path. */
    async create(changes: object = {}): Promise<string> {
      const { body } = await owner.post('/data-pipelines').send(pipelineBody(schema, changes)).expect(201)
      return `/data-pipelines/${body.id}`
    },
    /** Runs a pipeline, or another of its operations. Returns the ended run. */
    async run(path: string, body: object = {}, operation = 'run') {
      const { body: started } = await owner.post(`${path}/${operation}`).send(body).expect(202)
      return until(async () => {
        const { body: runs } = await owner.get(`${path}/runs`).expect(200)
        return runs.find(
          (one: { taskId: string; finished?: string }) => one.taskId === started.data.taskId && one.finished,
        )
      })
    },
  }
}
