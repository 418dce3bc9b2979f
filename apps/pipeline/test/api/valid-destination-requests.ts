import { randomBytes } from 'node:crypto'
import { credentials, startDhis2 } from '../dhis2/dhis2-stand-in.ts'
import type { Asking } from './app-under-test.ts'
import { viewBody } from './view-fixtures.ts'

interface Scene {
  owner: Asking
  loaded: { schema: string; table: string }
}

/** A good request of each operation of destinations, to a stand-in of DHIS2. */
export function goodDestinations(scene: () => Scene) {
  let standIn: ReturnType<typeof startDhis2> | undefined
  let view: Promise<string> | undefined
  const target = async () => ({ url: (await (standIn ??= startDhis2())).url, ...credentials })
  const viewOf = async () => {
    const { owner, loaded } = scene()
    const { body } = await owner
      .post('/views')
      .send(viewBody(loaded.schema, `select * from ${loaded.table}`))
      .expect(201)
    return body.id as string
  }
  const body = async (changes: object = {}) => ({
    name: `Destination ${randomBytes(6).toString('hex')}`,
    disabled: false,
    runTrigger: 'NEVER',
    viewSource: { id: await (view ??= viewOf()) },
    apiTarget: await target(),
    ...changes,
  })
  const create = async () =>
    (
      await scene()
        .owner.post('/destinations')
        .send(await body())
        .expect(201)
    ).body.id as string
  const running = async () => {
    const uid = await create()
    const { body: envelope } = await scene().owner.post(`/destinations/${uid}/run`).send({}).expect(202)
    return { uid, taskId: envelope.data.taskId as string }
  }

  return {
    'destinations.list': async () => ({ query: '?filter=type:eq:SOURCE_SYSTEM_C&order=name:idesc' }),
    'destinations.search': async () => ({ body: { query: 'destination', paging: { total: true } } }),
    'destinations.create': async () => ({
      body: await body({ description: 'To the ministry', importOptions: { idScheme: 'CODE', dryRun: true } }),
    }),
    'destinations.read': async () => ({ uid: await create() }),
    'destinations.update': async () => ({ uid: await create(), body: await body() }),
    'destinations.lineage': async () => ({ uid: await create() }),
    'destinations.delete': async () => ({ uid: await create() }),
    'destinations.share': async () => ({
      uid: await create(),
      body: { publicAccess: 'READ', userAccess: [], userGroupAccess: [] },
    }),
    'destinations.run': async () => ({ uid: await create(), body: { mode: 'FULL' } }),
    'destinations.cancel': async () => ({ uid: (await running()).uid }),
    'destinations.runs': async () => ({ uid: (await running()).uid, query: '?pageSize=1' }),
    'destinations.rejectedRows': async () => ({ ...(await running()), query: '?pageSize=1' }),
    'destinations.testTarget': async () => ({ body: await target() }),
    'destinations.testConnection': async () => ({ uid: await create(), body: { url: (await target()).url } }),
    'destinations.lookup': async () => ({ uid: await create(), body: { query: 'anc' } }),
  }
}
