import { pipelineBody, type Asking, type Service } from './app-under-test.ts'
import type { Fresh } from './create-owned-objects.ts'
import { samples, withSecrets } from './pipeline-type-samples.ts'

interface Given {
  service: Service
  owner: Asking
  fresh: Fresh
  /** What the owner has loaded, and the run that loaded it. */
  loaded: { schema: string; pipeline: string; restorable: string; run: string }
}

const unreachable = {
  type: 'SQL_DATABASE_D',
  jdbcSource: { hostname: 'db.invalid', database: 'registry', username: 'reader', password: 'not very secret' },
  sqlQuery: 'select 1',
}

const tus = { 'Tus-Resumable': '1.0.0' }

/** A good request of every operation on data pipelines, but those on what is checked of them. */
export function goodDataPipelines(given: () => Given) {
  const loaded = () => ({ uid: given().loaded.pipeline })
  const body = (changes: object = {}) => pipelineBody(given().loaded.schema, changes)
  const create = (changes: object) => given().fresh.pipelineIn(given().loaded.schema, changes)
  const replacement = async () => {
    const { owner } = given()
    const { body: read } = await owner.get(`/data-pipelines/${loaded().uid}`).expect(200)
    return body({ name: read.name })
  }
  const upload = async () => {
    const { owner, fresh } = given()
    const uid = await fresh.pipeline()
    const headers = { ...tus, 'Upload-Length': '4' }
    const { body: created } = await owner.post(`/data-pipelines/${uid}/uploads`).set(headers).expect(201)
    return { uid, upload: created.id as string }
  }
  /** A database that is there: the service's own, read as a source. */
  const atHome = () => {
    const { environment } = given().service
    const { hostname, port, pathname, username, password } = new URL(environment['PIPELINE_DATABASE_URL']!)
    const database = pathname.slice(1)
    return { hostname, port: Number(port), database, username, ...(password && { password }) }
  }

  return {
    'dataPipelines.list': async () => ({ query: '?filter=type:eq:CSV_UPLOAD&total=false' }),
    'dataPipelines.search': async () => ({ body: { paging: {} } }),
    'dataPipelines.create': async () => ({
      body: body({
        owner: 'Statistics',
        url: 'https://example.org/data',
        reference: 'R-1',
        source: 'Registry',
        termsOfUse: 'CC0',
        csvOptions: { delimiter: 'PIPE', headerRow: false },
        anonymousAccess: { metadata: false, data: false },
      }),
    }),
    'dataPipelines.read': async () => loaded(),
    'dataPipelines.update': async () => ({ ...loaded(), body: await replacement() }),
    'dataPipelines.lineage': async () => ({ uid: await given().fresh.pipeline() }),
    'dataPipelines.delete': async () => ({ uid: await given().fresh.pipeline() }),
    'dataPipelines.share': async () => ({
      ...loaded(),
      body: { publicAccess: 'NONE', userAccess: [], userGroupAccess: [] },
    }),
    'dataPipelines.saveMany': async () => ({ body: { dataPipelines: [body()] } }),
    'dataPipelines.upload': async () => ({
      uid: await given().fresh.pipeline(),
      query: '?name=a.csv',
      body: 'a\n1\n',
    }),
    'resumableUploads.list': async () => ({ uid: await given().fresh.pipeline() }),
    'resumableUploads.create': async () => ({
      uid: await given().fresh.pipeline(),
      headers: { ...tus, 'Upload-Length': '4', 'Upload-Metadata': 'filename YS5jc3Y=' },
    }),
    'resumableUploads.append': async () => ({
      ...(await upload()),
      headers: { ...tus, 'Upload-Offset': '0' },
      body: 'a\n1\n',
    }),
    'resumableUploads.read': () => upload(),
    'resumableUploads.delete': async () => ({ ...(await upload()), headers: tus }),
    'dataPipelines.preview': async () => ({ body: { type: 'CSV_UPLOAD', id: loaded().uid, rows: 1 } }),
    'dataPipelines.previewFile': async () => ({
      query: '?name=a.csv&delimiter=COMMA&nullValues=NA',
      body: 'a,b\n1,NA\n',
    }),
    'dataPipelines.lookup': async () => ({ body: { jdbcSource: atHome() } }),
    'dataPipelines.lookupSaved': async () => ({
      uid: await create({ ...unreachable, jdbcSource: atHome() }),
      body: { query: 'nothing is called that' },
    }),
    'dataPipelines.testSource': async () => ({ body: unreachable }),
    'dataPipelines.testConnection': async () => ({ uid: await create(unreachable) }),
    'dataPipelines.run': async () => ({ uid: await given().fresh.pipelineWithFile(), body: { mode: 'FULL' } }),
    'dataPipelines.cancel': async () => {
      const uid = await given().fresh.pipelineWithFile()
      await given().owner.post(`/data-pipelines/${uid}/run`).expect(202)
      return { uid }
    },
    'dataPipelines.resetCursor': async () => ({
      uid: await create({ type: 'SOURCE_SYSTEM_E', ...withSecrets(samples['SOURCE_SYSTEM_E'], 'a value') }),
      body: { from: '2026-01-01T00:00:00Z' },
    }),
    'dataPipelines.restore': async () => ({ uid: given().loaded.restorable }),
    'dataPipelines.runs': async () => ({ ...loaded(), query: '?pageSize=1' }),
    'dataPipelines.rejectedRows': async () => loaded(),
    'dataPipelines.logs': async () => ({ ...loaded(), query: `?taskId=${given().loaded.run}&order=ASC` }),
    'dataPipelines.followLogs': async () => ({ ...loaded(), query: `?taskId=${given().loaded.run}` }),
    'dataPipelines.table': async () => loaded(),
    'dataPipelines.data': async () => ({ ...loaded(), query: '?page=1&pageSize=10' }),
    'dataPipelines.profile': async () => loaded(),
    'dataPipelines.publications': async () => loaded(),
  }
}
