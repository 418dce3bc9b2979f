import type { Asking } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'

interface Given {
  owner: Asking
  /** What the owner has loaded. */
  loaded: { pipeline: string }
}

/** A good request of every operation on data quality checks and groups of them. */
export function goodQualityChecks(given: () => Given) {
  const check = async (changes: object = {}) =>
    (await given().owner.post('/data-quality-checks').send(checkBody(changes)).expect(201)).body.id as string
  const group = async (changes: object = {}) => {
    const body = groupBody({ dataQualityChecks: [{ id: await check(changes) }] })
    return (await given().owner.post('/data-quality-check-groups').send(body).expect(201)).body.id as string
  }
  const run = async () => {
    const uid = await group()
    const { body } = await given().owner.post(`/data-quality-check-groups/${uid}/run`).send({}).expect(200)
    return { uid, taskId: body.taskId as string }
  }
  const started = async () => {
    const uid = await group()
    await given().owner.post(`/data-quality-check-groups/${uid}/start`).send({}).expect(202)
    return { uid }
  }
  const asking = { query: 'select ${country}' }
  const variables = [{ name: 'country', secured: false, value: 'NO' }]
  const access = { publicAccess: 'READ', userAccess: [], userGroupAccess: [] }
  const labels = [{ key: 'severity', value: 'high' }]
  return {
    'dataQualityChecks.list': async () => ({ query: '?filter=code:eq:A&order=shortName:asc' }),
    'dataQualityChecks.search': async () => ({ body: { query: 'check', paging: { total: true } } }),
    'dataQualityChecks.create': async () => ({ body: checkBody({ labels, description: 'What must not be.' }) }),
    'dataQualityChecks.read': async () => ({ uid: await check() }),
    'dataQualityChecks.update': async () => ({ uid: await check(), body: checkBody() }),
    'dataQualityChecks.lineage': async () => ({ uid: await check() }),
    'dataQualityChecks.delete': async () => ({ uid: await check() }),
    'dataQualityChecks.share': async () => ({ uid: await check(), body: access }),
    'dataQualityChecks.run': async () => ({ uid: await check(asking), body: { variables } }),
    'dataQualityCheckGroups.list': async () => ({ query: '?pageSize=5&locale=fr' }),
    'dataQualityCheckGroups.search': async () => ({ body: { query: 'group', paging: {} } }),
    'dataQualityCheckGroups.create': async () => ({ body: groupBody({ dataQualityChecks: [{ id: await check() }] }) }),
    'dataQualityCheckGroups.read': async () => ({ uid: await group() }),
    'dataQualityCheckGroups.update': async () => ({ uid: await group(), body: groupBody({ labels }) }),
    'dataQualityCheckGroups.lineage': async () => ({ uid: await group() }),
    'dataQualityCheckGroups.delete': async () => ({ uid: await group() }),
    'dataQualityCheckGroups.share': async () => ({ uid: await group(), body: access }),
    'dataQualityCheckGroups.run': async () => ({ uid: await group(asking), body: { variables } }),
    'dataQualityCheckGroups.start': async () => ({ uid: await group(asking), body: { variables } }),
    'dataQualityCheckGroups.cancel': started,
    'dataQualityCheckGroups.runs': started,
    'dataQualityCheckGroups.qualityResults': run,
    'dataPipelines.qualityResults': async () => ({ uid: given().loaded.pipeline }),
  }
}
