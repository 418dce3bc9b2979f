import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { job, workflowBody } from './workflow-body.ts'

let service: Service
let client: string
let owner: Asking
let schema: string

beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_WORKFLOW'] as const
  owner = service.as(await service.identity.person(client, [...roles]))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

/** A pipeline with a file, as its uid and name. */
async function pipeline(content = 'a,b\n1,2\n'): Promise<{ id: string; name: string }> {
  const { body } = await owner.post('/data-pipelines').send(pipelineBody(schema)).expect(201)
  await owner.post(`/data-pipelines/${body.id}/file`).type('text/csv').send(content).expect(200)
  return body
}
const workflow = async (steps: object[], changes = {}): Promise<string> => {
  const { body } = await owner.post('/workflows').send(workflowBody(steps, changes)).expect(201)
  return `/workflows/${body.id}`
}
const runsOf = async (one: string) => (await owner.get(`${one}/runs`).expect(200)).body
const ended = (one: string) =>
  until(async () => {
    const [run] = await runsOf(one)
    return run.finished && run
  })

describe('a run of a workflow', () => {
  it('is refused without jobs, or if the workflow is disabled', async () => {
    const empty = await owner.post(`${await workflow([{ disabled: true, jobs: [] }])}/run`).expect(422)
    expect(empty.body).toMatchObject({ code: 'refused', errors: [{ pointer: '/steps/steps' }] })
    const steps = [{ jobs: [job((await pipeline()).id)] }]
    const disabled = await owner.post(`${await workflow(steps, { disabled: true })}/run`).expect(422)
    expect(disabled.body.errors[0].pointer).toBe('/disabled')
  })

  it('returns the status of each job, also after cancellation', async () => {
    const [first, second] = [await pipeline(), await pipeline()]
    const one = await workflow([{ jobs: [job(first.id)] }, { jobs: [job(second.id)] }])
    const { body } = await owner.post(`${one}/run`).send({ mode: 'INCREMENTAL' }).expect(202)
    expect(body.message).toBe('The run was started.')
    expect((await owner.post(`${one}/run`).expect(202)).body.data).toEqual(body.data)
    expect((await owner.get(one).expect(200)).body.status).toMatchObject({
      lastRunStatus: 'RUNNING',
      jobId: body.data.taskId,
    })
    const [child] = await runsOf(`/data-pipelines/${first.id}`)
    expect(child).toMatchObject({ trigger: 'WORKFLOW', status: 'QUEUED', startedBy: expect.any(String) })
    expect(await runsOf(one)).toMatchObject([
      {
        taskId: body.data.taskId,
        status: 'RUNNING',
        jobs: [
          {
            step: 1,
            job: 1,
            jobType: 'DATA_PIPELINE_LOAD',
            name: first.name,
            uid: first.id,
            status: 'QUEUED',
            taskId: child.taskId,
          },
          { step: 2, job: 1, name: second.name, status: 'WAITING' },
        ],
      },
    ])
    const busy = await owner.delete(one).expect(409)
    expect(busy.body.detail).toContain('Wait for its end, or cancel it.')
    await owner.post(`${one}/cancel`).expect(202)
    expect(await runsOf(one)).toMatchObject([
      { status: 'CANCELLED', jobs: [{ status: 'CANCELLED' }, { status: 'SKIPPED' }] },
    ])
    expect(await runsOf(`/data-pipelines/${first.id}`)).toMatchObject([{ status: 'CANCELLED' }])
    await owner.post(`${one}/cancel`).expect(422)
    await owner.delete(one).expect(204)
  })

  it('runs its jobs, waits for delayAfter, and names failed and skipped jobs', async () => {
    const good = await pipeline()
    const bad = await pipeline(`a,b\n${'1,2,3\n'.repeat(200)}`)
    const last = await pipeline()
    const steps = [
      { executionMode: 'PARALLEL', delayAfter: 1, jobs: [job(good.id), job(bad.id)] },
      { jobs: [job(last.id)] },
    ]
    const goesOn = await workflow(steps.toSpliced(0, 1, { ...steps[0]!, jobs: [job(good.id)] }))
    await using _worker = await spawnWorker(service.environment)
    await owner.post(`${goesOn}/run`).expect(202)
    const well = await ended(goesOn)
    expect(well).toMatchObject({ status: 'OK', message: '2 jobs ended well.' })
    const [before, after] = well.jobs
    expect(Date.parse(after.started) - Date.parse(before.finished)).toBeGreaterThanOrEqual(1_000)

    const stops = await workflow(steps)
    await owner.post(`${stops}/run`).expect(202)
    const failed = await ended(stops)
    expect(failed).toMatchObject({ status: 'FAILED', errorCode: 'JOBS_FAILED' })
    expect(failed.message).toContain(`1 job failed: "${bad.name}".`)
    expect(failed.message).toContain(`Skipped: "${last.name}".`)
    expect((await owner.get(stops).expect(200)).body.status).toMatchObject({ lastRunStatus: 'FAILED' })
  })

  it('runs no more parallel jobs than the organisation has slots, and shows the others as QUEUED', async () => {
    const transformation = { sqlStatements: [{ statement: 'select pg_sleep(3)' }] }
    const slow = async () => {
      const { body } = await owner.post('/data-pipelines').send(pipelineBody(schema, { transformation })).expect(201)
      await owner.post(`/data-pipelines/${body.id}/file`).type('text/csv').send('a\n1\n').expect(200)
      return body.id as string
    }
    const jobs = [job(await slow()), job(await slow()), job(await slow())]
    const one = await workflow([{ executionMode: 'PARALLEL', jobs }])
    await using _worker = await spawnWorker({ ...service.environment, CLIENT_CONCURRENCY: '2' })
    await owner.post(`${one}/run`).expect(202)
    const look = async () => (await runsOf(one))[0].jobs as { status: string; started?: string }[]
    await until(async () => (await look()).filter(({ status }) => status === 'RUNNING').length === 2)
    const seen = (await look()).filter(({ status }) => status !== 'OK')
    expect(seen.filter(({ status }) => status === 'QUEUED').map(({ started }) => started)).toEqual([undefined])
    expect((await ended(one)).jobs.map(({ status }: { status: string }) => status)).toEqual(['OK', 'OK', 'OK'])
  })
})
