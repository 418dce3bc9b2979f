import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { job, workflowBody } from './workflow-body.ts'

let service: Service
let client: string
let owner: Asking
let schema: string
let pipelines: { id: string; name: string }[]

const everything = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_WORKFLOW'] as const

beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  owner = service.as(await service.identity.person(client, [...everything]))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
  pipelines = await Promise.all([1, 2, 3].map(() => newPipeline()))
})
afterAll(() => service?.stop())

const newPipeline = async (changes = {}) =>
  (await owner.post('/data-pipelines').send(pipelineBody(schema, changes)).expect(201)).body
const create = async (steps: object[], changes = {}) =>
  (await owner.post('/workflows').send(workflowBody(steps, changes)).expect(201)).body

/** A view, whose operations are others' to test. */
async function newView(access: 'NONE' | 'READ' = 'READ'): Promise<{ uid: string; name: string }> {
  const { db } = service.stack
  const { id } = await db.selectFrom('schemas').select('id').where('uid', '=', schema).executeTakeFirstOrThrow()
  const name = `v${randomBytes(4).toString('hex')}`
  const values = { client, name, view_name: name, query: 'select 1', materialized: true, disabled: false }
  return db
    .insertInto('views')
    .values({ ...values, schema_id: id, run_trigger: 'NEVER', public_access: access })
    .returning(['uid', 'name'])
    .executeTakeFirstOrThrow()
}

describe('a workflow', () => {
  it('returns its steps and jobs with the names of the objects that they run', async () => {
    const [one, two] = pipelines as [{ id: string; name: string }, { id: string; name: string }]
    const sent = [
      { executionMode: 'PARALLEL', delayAfter: 30, jobs: [job(one.id), job(two.id)] },
      { disabled: true, jobs: [job(one.id)] },
      {},
    ]
    const made = await create(sent, {
      description: 'All of it',
      continuouslyUpdated: true,
      continuousUpdateInterval: 15,
    })
    expect(made).toMatchObject({
      continuouslyUpdated: true,
      continuousUpdateInterval: 15,
      scheduleable: true,
      status: { lastRunStatus: 'NEVER_RUN' },
      steps: {
        errorStrategy: 'STOP',
        steps: [
          {
            executionMode: 'PARALLEL',
            delayAfter: 30,
            disabled: false,
            jobs: [
              {
                jobType: 'DATA_PIPELINE_LOAD',
                object: {
                  id: expect.any(Number),
                  uid: one.id,
                  name: one.name,
                  translations: [],
                  created: expect.any(String),
                },
                id: expect.any(String),
                dataPipelineType: 'CSV_UPLOAD',
              },
              { object: { uid: two.id } },
            ],
          },
          { executionMode: 'SERIAL', delayAfter: 0, disabled: true, jobs: [{ object: { uid: one.id } }] },
          { jobs: [] },
        ],
      },
    })
    expect((await owner.get(`/workflows/${made.id}`).expect(200)).body).toEqual(made)
  })

  it('accepts in PUT the body of GET, and its jobs keep their ids', async () => {
    const made = await create([{ jobs: [job(pipelines[0]!.id), job(pipelines[1]!.id)] }])
    const { body, headers } = await owner.put(`/workflows/${made.id}`).send(made).expect(200)
    expect(body).toEqual({ ...made, lastUpdated: expect.any(String) })
    expect(headers['etag']).toBe('"2"')
    const [step] = body.steps.steps
    const turned = { ...body, steps: { errorStrategy: 'CONTINUE', steps: [{ ...step, jobs: step.jobs.toReversed() }] } }
    const { body: after } = await owner.put(`/workflows/${made.id}`).set('if-match', '"2"').send(turned).expect(200)
    expect(after.steps).toEqual(turned.steps)
    await owner.put(`/workflows/${made.id}`).set('if-match', '"2"').send(turned).expect(412)
  })

  it('accepts as the id of a job its own id or, without an object, the id of the object', async () => {
    const one = pipelines[0]!
    const made = await create([{ jobs: [{ jobType: 'DATA_PIPELINE_LOAD', id: one.id }] }])
    const [kept] = made.steps.steps[0].jobs
    expect(kept.object.uid).toBe(one.id)
    const steps = { steps: [{ jobs: [{ jobType: 'DATA_PIPELINE_LOAD', id: kept.id }] }] }
    const { body } = await owner
      .put(`/workflows/${made.id}`)
      .send({ ...made, steps })
      .expect(200)
    expect(body.steps.steps[0].jobs).toEqual([kept])
    const numbered = { jobType: 'DATA_PIPELINE_LOAD', object: { id: 7, uid: one.id, name: 'whatever' } }
    expect((await create([{ jobs: [numbered] }])).steps.steps[0].jobs[0].object.uid).toBe(one.id)
  })

  it('accepts jobs without a type, with a numeric object id only, or with a foreign job id', async () => {
    const one = pipelines[0]!
    const made = await create([
      { delayAfter: 1.5, jobs: [{ object: { uid: one.id }, id: 'job 7 of another program' }] },
    ])
    expect(made.steps.steps[0]).toMatchObject({ delayAfter: 1.5, jobs: [{ jobType: 'DATA_PIPELINE_LOAD' }] })
    const { id } = made.steps.steps[0].jobs[0].object
    const numbered = await create([{ jobs: [{ object: { id, name: one.name } }] }])
    expect(numbered.steps.steps[0].jobs[0].object.uid).toBe(one.id)
    const nothing = workflowBody([{ jobs: [{ object: { id: 0.5 } }, { object: { name: one.name } }, { id: 'x' }] }])
    expect((await owner.post('/workflows').send(nothing).expect(422)).body.errors).toHaveLength(3)
  })

  it('reports all jobs at once that are unknown, of another organisation, of another type, or workflows', async () => {
    const other = await service.identity.client()
    const stranger = service.as(await service.identity.person(other.id, [...everything]))
    const { body: theirSchema } = await stranger.post('/schemas').send(schemaBody()).expect(201)
    const { body: theirs } = await stranger.post('/data-pipelines').send(pipelineBody(theirSchema.id)).expect(201)
    const workflow = await create([])
    const jobs = [
      job(randomUUID()),
      job(theirs.id),
      job(pipelines[0]!.id, 'VIEW_REFRESH'),
      job(workflow.id),
      { jobType: 'DATA_PIPELINE_LOAD' },
    ]
    const { body } = await owner
      .post('/workflows')
      .send(workflowBody([{}, { jobs }]))
      .expect(422)
    const at = (place: number, field: string) => `/steps/steps/1/jobs/${place}/${field}`
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      at(0, 'object/uid'),
      at(1, 'object/uid'),
      at(2, 'jobType'),
      at(3, 'object/uid'),
      at(4, 'object/uid'),
    ])
    expect(body.errors[2].detail).toContain('Set jobType to DATA_PIPELINE_LOAD')
    expect(body.errors[3].detail).toContain('is a workflow, which a workflow cannot run')
    await owner
      .post('/workflows')
      .send(workflowBody([{ jobs: [{ jobType: 'WORKFLOW_RUN', object: { uid: workflow.id } }] }]))
      .expect(400)
  })

  it('accepts only new jobs that the user may run, and keeps existing jobs', async () => {
    const colleague = service.as(await service.identity.person(client, [...everything]))
    const hidden = await newPipeline({ access: { publicAccess: 'NONE' } })
    const readable = await newPipeline({ access: { publicAccess: 'READ' } })
    const send = (id: string) => colleague.post('/workflows').send(workflowBody([{ jobs: [job(id)] }]))
    expect((await send(hidden.id).expect(422)).body.detail).toContain('No data pipeline that you may run has the id')
    expect((await send(readable.id).expect(422)).body.detail).toContain('not run it')
    const made = await create([{ jobs: [job(hidden.id)] }], { access: { publicAccess: 'READ_WRITE' } })
    const { body: read } = await colleague.get(`/workflows/${made.id}`).expect(200)
    const [shown] = read.steps.steps[0].jobs
    expect(shown).toEqual({
      jobType: 'DATA_PIPELINE_LOAD',
      object: { uid: hidden.id, name: hidden.name },
      id: expect.any(String),
    })
    await colleague.put(`/workflows/${made.id}`).send(read).expect(200)
    const only = service.as(await service.identity.person(client, ['ROLE_MANAGE_WORKFLOW']))
    expect((await only.get(`/workflows/${made.id}`).expect(200)).body.steps.steps[0].jobs).toEqual([shown])
  })

  it('can run views, and shows their details only to users who may see them', async () => {
    const view = await newView()
    const viewer = [...everything, 'ROLE_MANAGE_VIEW'] as const
    const superior = service.as(await service.identity.person(client, ['ROLE_SUPER_ADMIN']))
    const body = workflowBody([{ jobs: [job(view.uid, 'VIEW_REFRESH')] }], { access: { publicAccess: 'READ' } })
    const { body: made } = await superior.post('/workflows').send(body).expect(201)
    const seen = service.as(await service.identity.person(client, [...viewer]))
    expect((await seen.get(`/workflows/${made.id}`).expect(200)).body.steps.steps[0].jobs).toMatchObject([
      { jobType: 'VIEW_REFRESH', object: { ...view, created: expect.any(String) } },
    ])
    expect((await owner.get(`/workflows/${made.id}`).expect(200)).body.steps.steps[0].jobs[0].object).toEqual(view)
  })

  it('cannot run an object twice in a parallel step, and has at most 200 jobs', async () => {
    const twice = { executionMode: 'PARALLEL', jobs: [job(pipelines[0]!.id), job(pipelines[0]!.id)] }
    const { body } = await owner
      .post('/workflows')
      .send(workflowBody([twice]))
      .expect(422)
    expect(body.errors).toMatchObject([{ pointer: '/steps/steps/0/jobs/1' }])
    await create([{ ...twice, executionMode: 'SERIAL' }])
    const many = Array.from({ length: 5 }, () => ({ jobs: Array.from({ length: 41 }, () => job(pipelines[0]!.id)) }))
    const refused = await owner.post('/workflows').send(workflowBody(many)).expect(422)
    expect(refused.body.detail).toContain('at most 200 jobs, and this one has 205')
  })

  it('prevents the deletion of the objects that it runs', async () => {
    const pipeline = await newPipeline()
    const made = await create([{ jobs: [job(pipeline.id)] }])
    const { body } = await owner.delete(`/data-pipelines/${pipeline.id}`).expect(409)
    expect(body.detail).toContain(`"${made.name}"`)
    await owner
      .put(`/workflows/${made.id}`)
      .send({ ...made, steps: {} })
      .expect(200)
    await owner.delete(`/data-pipelines/${pipeline.id}`).expect(204)
    await owner.delete(`/workflows/${made.id}`).expect(204)
    await owner.get(`/workflows/${made.id}`).expect(404)
  })

  it('is listed and searched with paging, with a pager and the list headers', async () => {
    const word = randomBytes(4).toString('hex')
    for (const place of [1, 2, 3]) await create([], { name: `${word} ${place}` })
    const { body, headers } = await owner.get(`/workflows?query=${word}&pageSize=2&page=2`).expect(200)
    expect(body.pager).toEqual({ page: 2, pageSize: 2, totalCount: 3, offset: 2, pageCount: 2 })
    expect(body.results.map(({ name }: { name: string }) => name)).toEqual([`${word} 3`])
    expect(headers).toMatchObject({ 'x-total-count': '3', link: expect.stringContaining('rel="first"') })
    const search = { filter: [`name:ilike:${word}`], order: ['name:desc'], paging: { pageSize: 1, total: false } }
    const found = await owner.post('/workflows/search').send(search).expect(200)
    expect(found.body).toMatchObject({ results: [{ name: `${word} 3` }], pager: { page: 1, pageSize: 1, offset: 0 } })
    expect(found.body.pager).not.toHaveProperty('totalCount')
    await owner.get('/workflows?filter=steps:eq:1').expect(400)
  })

  it('can be shared, and has a translated name', async () => {
    const translations = [{ locale: 'fr', property: 'name', value: 'Nuit' }]
    const made = await create([], { translations })
    expect((await owner.get(`/workflows/${made.id}`).set('accept-language', 'fr').expect(200)).body.displayName).toBe(
      'Nuit',
    )
    const reader = service.as(await service.identity.person(client, ['ROLE_SEE_WORKFLOW']))
    await reader.get(`/workflows/${made.id}`).expect(404)
    const access = { publicAccess: 'READ', userAccess: [], userGroupAccess: [] }
    const { body } = await owner.put(`/workflows/${made.id}/access`).send(access).expect(200)
    expect(body).toMatchObject([{ id: made.id, access: { accessLevel: 'PUBLIC' } }])
    await reader.get(`/workflows/${made.id}`).expect(200)
    await reader.post(`/workflows/${made.id}/run`).expect(403)
  })
})
