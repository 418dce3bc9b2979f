import type { Asking } from './app-under-test.ts'
import { job, workflowBody } from './workflow-body.ts'

/** A good request of every operation of workflows. `withFile` makes a pipeline that can be run. */
export function goodWorkflows(given: () => { owner: Asking; withFile(): Promise<string> }) {
  const create = async () => {
    const { owner, withFile } = given()
    const body = workflowBody([{ delayAfter: 1, jobs: [job(await withFile())] }])
    return (await owner.post('/workflows').send(body).expect(201)).body.id as string
  }
  const running = async () => {
    const uid = await create()
    await given().owner.post(`/workflows/${uid}/run`).expect(202)
    return uid
  }
  return {
    'workflows.list': async () => ({ query: '?pageSize=5&order=name:idesc&locale=de' }),
    'workflows.search': async () => ({ body: { query: 'workflow', paging: { total: true } } }),
    'workflows.create': async () => ({
      body: workflowBody([{ executionMode: 'PARALLEL', delayAfter: 3, disabled: true, jobs: [] }], {
        description: 'Every night.',
        runTrigger: 'EVERY_DAY_2AM',
      }),
    }),
    'workflows.read': async () => ({ uid: await create() }),
    'workflows.update': async () => ({ uid: await create(), body: workflowBody([]) }),
    'workflows.lineage': async () => ({ uid: await create() }),
    'workflows.delete': async () => ({ uid: await create() }),
    'workflows.share': async () => ({
      uid: await create(),
      body: { publicAccess: 'READ', userAccess: [], userGroupAccess: [] },
    }),
    'workflows.run': async () => ({ uid: await create(), body: { mode: 'INCREMENTAL' } }),
    'workflows.cancel': async () => ({ uid: await running() }),
    'workflows.runs': async () => ({ uid: await running(), query: '?pageSize=1' }),
  }
}
