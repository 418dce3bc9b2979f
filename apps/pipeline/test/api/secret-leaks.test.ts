import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Response, Test } from 'supertest'
import { viewOf } from '../dhis2/create-view-to-push.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { connected, superuserUrl, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'
import { samples, withSecrets } from './pipeline-type-samples.ts'

/** Every secret that is planted, by where it was. None of them is ever to be seen again. */
const canaries = new Map<string, string>()
const canary = (where: string) => {
  const value = `canary-${randomBytes(9).toString('hex')}`
  canaries.set(where, value)
  return value
}
/** Those whose values stand in a text, in any spelling that one may have there. */
const seenIn = (text: string) =>
  [...canaries].flatMap(([where, value]) =>
    [value, Buffer.from(value).toString('base64').replace(/=+$/, ''), Buffer.from(value).toString('hex')].some((one) =>
      text.toLowerCase().includes(one.toLowerCase()),
    )
      ? [where]
      : [],
  )

let service: Service
let worker: Awaited<ReturnType<typeof spawnWorker>>
let client: string
let owner: Asking
let schema: string
const answers: string[] = []
const source = { database: word('canaries'), username: word('canary_reader') }

beforeAll(async () => {
  service = await startService()
  ;({ id: client } = await service.identity.client())
  const nouns = ['SCHEMA', 'DATA_PIPELINE', 'VARIABLE', 'SETTING', 'DESTINATION', 'VIEW'] as const
  const quality = ['ROLE_MANAGE_DATA_QUALITY_CHECK', 'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP'] as const
  owner = service.as(
    await service.identity.person(client, [...nouns.map((noun) => `ROLE_MANAGE_${noun}` as const), ...quality]),
  )
  worker = await spawnWorker(service.environment)
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
  await owner.put('/settings/ALERT_EMAIL').send({ value: 'somebody@example.org' }).expect(200)
  await using superuser = await connected(superuserUrl())
  await superuser.query(`create role ${source.username} login password '${canary('the password of the source')}'`)
  await superuser.query(`create database ${source.database} owner ${source.username}`)
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
  await using superuser = await connected(superuserUrl())
  await superuser.query(`drop database if exists ${source.database} with (force)`)
  await superuser.query(`drop role if exists ${source.username}`)
})

/** Asks, and keeps the answer for later. */
async function ask(test: Test): Promise<Response> {
  const answer = await test
  answers.push(answer.text ?? '')
  return answer
}
const secured = async (name: string, value: string) => {
  const { status } = await ask(owner.put('/variables').send([{ name, secured: true, value }]))
  expect(status).toBe(200)
}
const atHome = (changes: object = {}) => ({
  type: 'SQL_DATABASE_D',
  jdbcSource: {
    hostname: '127.0.0.1',
    port: Number(new URL(superuserUrl()).port),
    ...source,
    password: '${SOURCE_PASSWORD}',
    ...changes,
  },
})
const made = async (path: string, body: object): Promise<string> => {
  const answer = await ask(owner.post(path).send(body))
  expect([answer.status, answer.body.errors]).toEqual([201, undefined])
  return answer.body.id
}
/** Returns the paths below an object that show a run, and the statuses that each may have. */
type Reads = (run: { taskId: string }) => Record<string, number[]>
const pipelineReads: Reads = ({ taskId }) => ({
  '': [200],
  '/runs': [200],
  '/logs': [200],
  // A pipeline without a successful run has no table.
  '/data': [200, 404],
  [`/runs/${taskId}/rejected-rows`]: [200],
  [`/runs/${taskId}/quality-results`]: [200],
})
const groupReads: Reads = ({ taskId }) => ({ '': [200], '/runs': [200], [`/runs/${taskId}/quality-results`]: [200] })

/** Runs it and waits for its end; all that can be read about it is read. */
async function ran(
  path: string,
  uid: string,
  { start = '/run', body: sent = {}, reads = pipelineReads }: { start?: string; body?: object; reads?: Reads } = {},
): Promise<{ status: string; errorCode?: string; message?: string }> {
  const { status, body: started } = await ask(owner.post(`${path}/${uid}${start}`).send(sent))
  expect(status).toBe(202)
  const run = await until(async () => {
    const { body } = await owner.get(`${path}/${uid}/runs`).expect(200)
    return body.find(({ taskId, finished }: any) => taskId === started.data.taskId && finished)
  })
  for (const [more, expected] of Object.entries(reads(run))) {
    const answer = await ask(owner.get(`${path}/${uid}${more}`))
    expect([more, expected]).toEqual([more, expect.arrayContaining([answer.status])])
  }
  return run
}

describe('a secret', () => {
  it('works in connection tests, previews, look-ups and runs', async () => {
    await secured('SOURCE_PASSWORD', canaries.get('the password of the source')!)
    await ask(owner.put('/variables').send([{ name: 'LIMIT', secured: false, value: '2' }]))
    const sqlQuery = 'select n from generate_series(1, 10) n where n <= ${LIMIT}'
    const body = { ...atHome(), sqlQuery }
    expect((await ask(owner.post('/data-pipelines/test-connection').send(body))).body.status).toBe('OK')
    expect((await ask(owner.post('/data-pipelines/preview').send(body))).body.rows).toEqual([[1], [2]])
    const uid = await made('/data-pipelines', pipelineBody(schema, body))
    expect((await ask(owner.post(`/data-pipelines/${uid}/test-connection`))).body.status).toBe('OK')
    expect((await ask(owner.post(`/data-pipelines/${uid}/lookups/tables`).send({}))).status).toBe(200)
    expect(await ran('/data-pipelines', uid)).toMatchObject({ status: 'OK', rowsWritten: 2 })
  })

  it.each([
    ['the password', () => ({ jdbcSource: atHome({ password: '${WRONG}' }).jdbcSource, sqlQuery: 'select 1' })],
    [
      'the name of the database',
      () => ({ jdbcSource: atHome({ database: '${WRONG}' }).jdbcSource, sqlQuery: 'select 1' }),
    ],
    ['the user', () => ({ jdbcSource: atHome({ username: '${WRONG}' }).jdbcSource, sqlQuery: 'select 1' })],
    ['the query', () => ({ ...atHome(), sqlQuery: "select '${WRONG}'::int" })],
  ])('makes the preview and the run fail if its value is wrong: in %s', async (where, changes) => {
    await secured('WRONG', canary(`a variable as ${where}`))
    const body = { type: 'SQL_DATABASE_D', ...changes() }
    await ask(owner.post('/data-pipelines/test-connection').send(body))
    expect((await ask(owner.post('/data-pipelines/preview').send(body))).status).toBe(422)
    const uid = await made('/data-pipelines', pipelineBody(schema, body))
    await ask(owner.post(`/data-pipelines/${uid}/lookups/tables`).send({}))
    expect(await ran('/data-pipelines', uid)).toMatchObject({ status: 'FAILED', message: expect.any(String) })
  })

  it('makes the run fail with the name of the variable if the variable does not exist', async () => {
    const uid = await made(
      '/data-pipelines',
      pipelineBody(schema, { ...atHome({ password: '${NOBODY}' }), sqlQuery: 'select 1' }),
    )
    expect(await ran('/data-pipelines', uid)).toMatchObject({
      status: 'FAILED',
      errorCode: 'VARIABLE_UNKNOWN',
      message: 'The variable ${NOBODY} does not exist or has no value. Create it, set its value, or correct its name.',
    })
  })

  it.each(Object.entries(samples).filter(([, { secrets }]) => secrets))(
    'is saved and read in a pipeline of type %s',
    async (type, sample) => {
      const uid = await made('/data-pipelines', pipelineBody(schema, { type, ...withSecrets(sample, canary(type)) }))
      await ask(owner.get(`/data-pipelines/${uid}`))
      await ask(owner.put(`/data-pipelines/${uid}`).send({ name: 7 }))
    },
  )

  it('is used in checks that fail, alone and in a group', async () => {
    await secured('CHECK_SECRET', canary('a variable of a check'))
    const given = canary('a variable given to a run')
    const checks = [
      'select ${CHECK_SECRET}::int',
      'select * from nowhere where x = ${CHECK_SECRET}',
      'select ${GIVEN}::date',
    ]
    const ids = await Promise.all(checks.map((query) => made('/data-quality-checks', checkBody({ query }))))
    const variables = [{ name: 'GIVEN', value: given, secured: true }]
    for (const [index, id] of ids.entries()) {
      const used = checks[index]!.includes('GIVEN')
      const { status } = await ask(owner.post(`/data-quality-checks/${id}/run`).send(used ? { variables } : {}))
      expect(status).toBe(200)
    }
    // Nor in the refusal where a check does not use it.
    expect((await ask(owner.post(`/data-quality-checks/${ids[0]}/run`).send({ variables }))).status).toBe(422)
    const group = await made('/data-quality-check-groups', groupBody({ dataQualityChecks: ids.map((id) => ({ id })) }))
    expect((await ask(owner.post(`/data-quality-check-groups/${group}/run`).send({ variables }))).status).toBe(200)
    const started = await ran('/data-quality-check-groups', group, {
      start: '/start',
      body: { variables },
      reads: groupReads,
    })
    expect(started).toMatchObject({ status: 'FAILED', message: expect.stringContaining('3 of 3 checks are not OK') })
  })

  it('is used in a destination that cannot be reached', async () => {
    const view = await viewOf(service.stack, client, 'select 1 as value')
    for (const target of [
      { apiTokenTarget: { url: 'http://127.0.0.1:1', authToken: canary('the token of a destination') } },
      {
        apiTarget: { url: 'http://127.0.0.1:1', username: 'admin', password: canary('the password of a destination') },
      },
    ]) {
      const body = { name: word(), disabled: false, runTrigger: 'NEVER', viewSource: { id: view.uid }, ...target }
      const answer = await ask(owner.post('/destinations').send(body))
      expect(answer.status).toBe(201)
      await ask(owner.post(`/destinations/${answer.body.id}/test-connection`))
      await ask(owner.put(`/destinations/${answer.body.id}`).send({ ...answer.body, name: 7 }))
    }
  })
})

it('a secret in a configuration is planned, applied, exported and refused', async () => {
  const nouns = { type: 'SQL_DATABASE_D', disabled: false, runTrigger: 'NEVER', sqlQuery: 'select 1' }
  const configuration = (more: object = {}) => ({
    schemas: [{ name: 'Configured', permanent: false, providerSchema: 'SQL_DATABASE_D' }],
    variables: [{ name: 'CONFIGURED', secured: true, value: canary('a variable of a configuration') }],
    dataPipelines: [
      {
        ...nouns,
        name: 'Configured',
        jdbcSource: { ...atHome().jdbcSource, password: canary('a password of a configuration') },
        dataWarehouseTarget: { schema: { name: 'Configured' } },
        ...more,
      },
    ],
  })
  const first = configuration()
  for (const [action, body, status] of [
    ['plan', first, 200],
    ['apply', first, 200],
    ['plan', configuration(), 200],
    ['apply', configuration(), 200],
    ['plan', configuration({ runTrigger: 'CUSTOM', cronExpression: 'x' }), 422],
    ['plan', configuration({ colour: 'red' }), 400],
  ] as const)
    expect((await ask(owner.post(`/configuration/${action}`).send(body))).status).toBe(status)
  expect((await ask(owner.get('/configuration'))).status).toBe(200)
})

describe('the lists over all objects', () => {
  it('have the runs and the relations of the objects used above', async () => {
    const runs = await ask(owner.get('/runs?pageSize=200'))
    expect(runs.body.length).toBeGreaterThan(4)
    for (const path of ['/data-pipelines', '/destinations', '/data-quality-checks', '/data-quality-check-groups']) {
      const { body } = await owner.get(`${path}?paging=false`).expect(200)
      expect(body.length).toBeGreaterThan(0)
      for (const { id } of body) expect((await ask(owner.get(`${path}/${id}/lineage`))).status).toBe(200)
    }
    expect((await ask(owner.get('/schedules'))).status).toBe(200)
  })
})

describe('the secrets used above', () => {
  it('are in no response', () => {
    expect(answers.length).toBeGreaterThan(100)
    expect(seenIn(answers.join('\n'))).toEqual([])
  })

  it('are in no log line', () => {
    expect(worker.output().length).toBeGreaterThan(1_000)
    expect(seenIn(service.log() + worker.output())).toEqual([])
  })

  it('are in no process arguments', async () => {
    const { stdout } = await promisify(execFile)('ps', ['-eo', 'args'], { maxBuffer: 64 * 1024 * 1024 })
    expect(stdout).toMatch(/\/run-worker\.[jt]s$/m)
    expect(seenIn(stdout)).toEqual([])
  })

  it('are in no table of the service’s database as plain text', async () => {
    await using inside = await connected(service.environment['PIPELINE_DATABASE_URL']!)
    const { rows: tables } = await inside.query(
      `select quote_ident(nspname) || '.' || quote_ident(relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where relkind in ('r', 'm') and nspname !~ '^pg_' and nspname <> 'information_schema'`,
    )
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['public.alerts', 'public.variables', 'public.audit_default']),
    )
    expect((await inside.query('select from alerts')).rowCount).toBeGreaterThan(3)
    for (const { name } of tables) {
      const { rows } = await inside.query(
        `select coalesce(string_agg(t::text, e'\\n'), '') as text from only ${name} t`,
      )
      expect([name, seenIn(rows[0].text)]).toEqual([name, []])
    }
  })

  it('are in no query in pg_stat_activity of the warehouse', async () => {
    await using inside = await connected(superuserUrl())
    const { rows } = await inside.query('select query from pg_stat_activity')
    expect(seenIn(JSON.stringify(rows))).toEqual([])
  })
})
