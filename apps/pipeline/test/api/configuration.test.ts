import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import pg from 'pg'
import { sql } from 'kysely'
import { freePort } from '@sluice/testing/free-port'
import { until } from '@sluice/testing/wait-until'
import { readVariables } from '../../src/variables/variables.ts'
import { startProgram, ready } from '../start-program.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { everyManageRole } from './manage-roles.ts'
import { viewBody } from './view-fixtures.ts'

let service: Service
let client: string
let owner: Asking
beforeAll(async () => {
  service = await startService()
  await renew()
})
afterAll(() => service?.stop())

/** Starts with another, empty organisation. */
async function renew(): Promise<void> {
  client = (await service.identity.client()).id
  owner = service.as(await service.identity.person(client, [...everyManageRole]))
}

const schema = (name: string, changes: object = {}) => ({ ...schemaBody({ name }), ...changes })
const view = (name: string, query: string, changes: object = {}) => ({
  name,
  schema: { name: 'Health' },
  query,
  materialized: false,
  disabled: false,
  runTrigger: 'NEVER',
  ...changes,
})
const pipeline = (name: string, changes: object = {}) => ({
  ...pipelineBody('', { name, dataWarehouseTarget: { schema: { name: 'Health' } } }),
  ...changes,
})
const database = (password?: string | null) => ({
  type: 'SQL_DATABASE_D',
  jdbcSource: {
    hostname: 'db.example.org',
    database: 'registry',
    username: 'reader',
    ...(password !== undefined && { password }),
  },
  sqlQuery: 'select 1',
})
const post = (action: 'plan' | 'apply', configuration: object, query = '') =>
  owner.post(`/configuration/${action}${query}`).send(configuration)
const apply = async (configuration: object) => (await post('apply', configuration).expect(200)).body
const plan = async (configuration: object) => (await post('plan', configuration).expect(200)).body
const exported = async () => (await owner.get('/configuration').expect(200)).body
const errorsOf = async (configuration: object): Promise<[string, string][]> => {
  const planned = await post('plan', configuration)
  const applied = await post('apply', configuration)
  const read = ({ body }: { body: any }) => body.errors?.map(({ pointer, detail }: any) => [pointer, detail])
  expect([applied.status, read(applied)]).toEqual([planned.status, read(planned)])
  expect([400, 403, 409, 422]).toContain(planned.status)
  return read(planned)
}

describe('a configuration with an error', () => {
  const before = { schemas: [schema('Health')] }

  it.each<[string, object, [string, RegExp][]]>([
    ['an unknown field', { schemas: [schema('A', { colour: 'red' })] }, [['/schemas/0/colour', /is not known here/]]],
    ['an unknown kind', { pipelines: [] }, [['/pipelines', /is not known here/]]],
    [
      'an id instead of a name',
      { views: [view('A', 'select 1', { schema: { id: 'x' } })] },
      [
        ['/views/0/schema/name', /is required/],
        ['/views/0/schema/id', /is not known here/],
      ],
    ],
    ['a name twice', { schemas: [schema('A'), schema('A')] }, [['/schemas/1/name', /"A" is in the list twice/]]],
    [
      'a missing reference',
      { views: [view('A', 'select 1', { schema: { name: 'Heath' } })] },
      [
        [
          '/views/0/schema/name',
          /No schema that you may see has the name "Heath"\. Add it to the configuration, or correct the name\./,
        ],
      ],
    ],
    [
      'a missing job',
      {
        workflows: [
          {
            name: 'W',
            disabled: false,
            runTrigger: 'NEVER',
            continuouslyUpdated: false,
            steps: { steps: [{ jobs: [{ jobType: 'VIEW_REFRESH', object: { name: 'None' } }] }] },
          },
        ],
      },
      [['/workflows/0/steps/steps/0/jobs/0/object/name', /No view that you may see has the name "None"/]],
    ],
    [
      'a missing user and group',
      {
        schemas: [
          schema('A', { access: { userAccess: [{ username: 'nobody-here' }], userGroupAccess: [{ code: 'NONE' }] } }),
        ],
      },
      [
        ['/schemas/0/access/userAccess/0/username', /no user "nobody-here"/],
        ['/schemas/0/access/userGroupAccess/0/code', /no user group with the code "NONE"/],
      ],
    ],
    [
      'two views that read each other',
      {
        views: [
          view('A', 'select * from b', { dataWarehouseViewName: 'a' }),
          view('B', 'select * from health.a join a on true', { dataWarehouseViewName: 'b' }),
          view('C', 'select extract(year from c) from (select current_date as c) as x', { dataWarehouseViewName: 'c' }),
        ],
      },
      [['/views/0/query', /The views "A", "B" read each other in a cycle/]],
    ],
    [
      'a view that reads itself',
      { views: [view('A', 'select * from A', { dataWarehouseViewName: 'a' })] },
      [['/views/0/query', /The view "A" reads itself/]],
    ],
    [
      'a former name equal to the name',
      { schemas: [schema('A', { was: 'A' })] },
      [['/schemas/0/was', /equals the name/]],
    ],
    [
      'swapped names',
      { schemas: [schema('A', { was: 'B' }), schema('B', { was: 'A' })] },
      [
        ['/schemas/0/was', /in two steps/],
        ['/schemas/1/was', /in two steps/],
      ],
    ],
    [
      'a former name twice',
      { schemas: [schema('A', { was: 'X' }), schema('B', { was: 'X' })] },
      [['/schemas/1/was', /also has the former name "X"/]],
    ],
    [
      'a reference to a former name',
      {
        schemas: [schema('Care', { was: 'Health' })],
        views: [view('A', 'select 1')],
      },
      [['/views/0/schema/name', /"Health" is renamed to "Care" by this configuration/]],
    ],
    [
      'an invalid schedule',
      { views: [view('A', 'select 1', { runTrigger: 'CUSTOM', cronExpression: 'x' })] },
      [['/views/0/cronExpression', /./]],
    ],
    [
      'two pipelines into one table',
      {
        dataPipelines: ['A', 'B'].map((name) =>
          pipeline(name, { dataWarehouseTarget: { schema: { name: 'Health' }, tableName: 'same' } }),
        ),
      },
      [['/dataPipelines/1/dataWarehouseTarget/tableName', /./]],
    ],
    [
      'a new secured variable without a value',
      { variables: [{ name: 'V', secured: true }] },
      [['/variables/0/value', /is required/]],
    ],
  ])('is refused with a sentence and changes nothing: %s', async (_what, configuration, expected) => {
    await renew()
    await apply(before)
    const stored = await exported()
    const errors = await errorsOf(configuration)
    expect(errors.map(([pointer]) => pointer).toSorted()).toEqual(expected.map(([pointer]) => pointer).toSorted())
    for (const [pointer, sentence] of expected) expect(errors.find(([at]) => at === pointer)![1]).toMatch(sentence)
    expect(await exported()).toEqual(stored)
  })

  it('is refused if both the former and the new name exist', async () => {
    await renew()
    await apply({ schemas: [schema('A'), schema('B')] })
    expect(await errorsOf({ schemas: [schema('B', { was: 'A' })] })).toEqual([
      ['/schemas/0/was', 'Both "A" and "B" exist. Omit was, or delete one of the two objects.'],
    ])
  })

  it('finds users and groups of the own organisation only, by exactly their names', async () => {
    await renew()
    const elsewhere = (await service.identity.client()).id
    const [own, foreign] = await Promise.all(
      [client, elsewhere].map((id) => service.identity.person(id, [...everyManageRole])),
    )
    const code = randomBytes(6).toString('hex')
    await service.identity.namedGroup(elsewhere, code, [])
    const usernames = [own!.username, foreign!.username, own!.username.toUpperCase()]
    const access = { userAccess: usernames.map((username) => ({ username })), userGroupAccess: [{ code }] }
    expect((await errorsOf({ schemas: [schema('A', { access })] })).map(([pointer]) => pointer)).toEqual([
      '/schemas/0/access/userAccess/1/username',
      '/schemas/0/access/userAccess/2/username',
      '/schemas/0/access/userGroupAccess/0/code',
    ])
  })

  it('names objects, not ids, in the violations of references', async () => {
    await renew()
    await apply({ schemas: [schema('Health', { access: { publicAccess: 'READ' } })] })
    const colleague = service.as(await service.identity.person(client, [...everyManageRole]))
    const { body } = await colleague
      .post('/configuration/plan')
      .send({ views: [view('A', 'select 1')] })
      .expect(422)
    expect(body.errors).toEqual([
      {
        pointer: '/views/0/schema/name',
        detail: 'No schema that you may write to has the name "Health". Choose another schema.',
      },
    ])
  })
})

describe('secrets', () => {
  const health = { schemas: [schema('Health')] }
  const states = ({ changes }: any, name: string) => changes.find((one: any) => one.name === name).redacted
  const at = '/jdbcSource/password'

  it('are compared inside the service, and never returned', async () => {
    await renew()
    const given = (password?: string | null) => ({ ...health, dataPipelines: [pipeline('P', database(password))] })
    expect(states(await plan(given('first secret')), 'P')).toEqual([{ pointer: at, state: 'SET' }])
    await apply(given('first secret'))
    const same = await plan(given('first secret'))
    expect([same.message, states(same, 'P')]).toEqual(['No changes.', [{ pointer: at, state: 'SAME' }]])
    const other = await plan(given('second secret'))
    expect(other).toMatchObject({ updated: 1, changes: [{}, { result: 'UPDATED', fields: [] }] })
    expect(states(other, 'P')).toEqual([{ pointer: at, state: 'CHANGED' }])
    expect(states(await plan(given()), 'P')).toEqual([])
    expect(states(await plan(given('')), 'P')).toEqual([{ pointer: at, state: 'REMOVED' }])
    expect((await exported()).dataPipelines).toMatchObject([{ name: 'P', redacted: [at] }])
    await apply(given(''))
    expect((await exported()).dataPipelines[0].redacted).toBeUndefined()
    const audited = await service.stack.db.selectFrom('audit').selectAll().execute()
    expect(JSON.stringify(audited)).not.toMatch(/first secret|second secret/)
    expect(service.log()).not.toMatch(/first secret|second secret/)
  })

  it('that an export names without a value are reported until they are set', async () => {
    await renew()
    const redacted = {
      ...health,
      variables: [{ name: 'TOKEN', secured: true, redacted: ['/value'] }],
      dataPipelines: [pipeline('P', { ...database(), redacted: [at] })],
    }
    const first = await apply(redacted)
    expect(first).toMatchObject({ created: 3, missing: 2, message: expect.stringContaining('2 objects lack a secret') })
    expect(states(first, 'TOKEN')).toEqual([{ pointer: '/value', state: 'MISSING' }])
    expect(await plan(redacted)).toMatchObject({ updated: 0, missing: 2 })
    const readToken = async () =>
      (await readVariables(service.stack.db, client, service.config.SECRET_KEYS)).get('TOKEN')
    expect(await readToken()).toBeUndefined()
    await apply({ variables: [{ name: 'TOKEN', secured: true, value: 'given later' }] })
    expect(await readToken()).toBe('given later')
    expect(await plan(redacted)).toMatchObject({ updated: 0, missing: 1 })
    expect((await exported()).variables).toMatchObject([{ name: 'TOKEN', redacted: ['/value'] }])
  })

  it('are refused for another address until they are given again', async () => {
    await renew()
    await apply({ ...health, dataPipelines: [pipeline('P', database('a secret'))] })
    const elsewhere = (password?: string) => {
      const { jdbcSource, ...source } = database(password)
      return {
        dataPipelines: [pipeline('P', { ...source, jdbcSource: { ...jdbcSource, hostname: 'evil.example.org' } })],
      }
    }
    expect(await errorsOf(elsewhere())).toEqual([
      ['/dataPipelines/0/jdbcSource/password', expect.stringContaining('belongs to the old address')],
    ])
    expect(states(await plan(elsewhere('a secret')), 'P')).toEqual([{ pointer: at, state: 'SAME' }])
  })
})

describe('a plan', () => {
  it('shows each changed field with its values', async () => {
    await renew()
    await apply({
      schemas: [schema('Health', { tags: ['a'] })],
      dataQualityChecks: [{ name: 'C', shortName: 'C', code: '', query: 'select 1' }],
    })
    const { changes, message } = await plan({
      schemas: [schema('Health', { description: 'x'.repeat(3_000), access: { publicAccess: 'READ' } })],
      dataQualityChecks: [{ name: 'D', was: 'C', shortName: 'C', code: '', query: 'select 1' }],
    })
    expect(message).toBe('0 to be created, 2 to be updated, 0 unchanged.')
    expect(changes).toMatchObject(
      [
        {
          result: 'UPDATED',
          fields: [
            { pointer: '/tags', before: '["a"]' },
            { pointer: '/access/publicAccess', before: '"NONE"', after: '"READ"' },
            { pointer: '/description', after: `"${'x'.repeat(999)}…` },
          ].toSorted(),
        },
        { name: 'D', was: 'C', fields: [{ pointer: '/name', before: '"C"', after: '"D"' }] },
      ].map((one) => ({ ...one, fields: expect.arrayContaining(one.fields as object[]) })),
    )
  })

  it('can be required of the apply that follows, which is refused if the changes have become others', async () => {
    await renew()
    const configuration = { schemas: [schema('Health')], dataPipelines: [pipeline('P')] }
    const planned = await plan(configuration)
    await apply({ schemas: [schema('Health', { description: 'another' })] })
    const { body } = await post('apply', configuration, `?plan=${planned.plan}`).expect(412)
    expect(body.detail).toBe(
      'The changes differ from those of the plan, so nothing was saved. Plan the configuration again.',
    )
    expect((await exported()).dataPipelines).toEqual([])
    const again = await plan(configuration)
    await post('apply', configuration, `?plan=${again.plan}`).expect(200)
  })

  it('renames an object whatever refers to it, and says nothing when that is done', async () => {
    await renew()
    await apply({ schemas: [schema('Health')], dataPipelines: [pipeline('P')] })
    const id = (await owner.get('/schemas').expect(200)).body[0].id
    const renamed = {
      schemas: [schema('Care', { was: 'Health' })],
      dataPipelines: [pipeline('P', { dataWarehouseTarget: { schema: { name: 'Care' } } })],
    }
    expect(await apply(renamed)).toMatchObject({ updated: 1, unchanged: 1, changes: [{ id, was: 'Health' }, {}] })
    expect(await plan(renamed)).toMatchObject({ updated: 0, unchanged: 2 })
    await renew()
    expect(await apply(renamed)).toMatchObject({ created: 2 })
  })
})

describe('views of a configuration', () => {
  it('keep their names in the warehouse while SQL names them, and keep their descriptions in a new one', async () => {
    await renew()
    const check = (query: string) => ({ name: 'Reads first', shortName: 'First', code: 'READS', query })
    await apply({ schemas: [schema('Health')], dataQualityChecks: [check('select * from first where n > 1')] })
    const [{ id }] = (await owner.get('/schemas').expect(200)).body
    const body = viewBody(id, 'select 1 as n', { name: 'First', dataWarehouseViewName: 'first' })
    await owner.post('/views').send(body).expect(201)
    const texts = { description: 'One row', columns: [{ name: 'n', description: 'Always one' }] }
    await owner.put(`/schemas/${id}/tables/first/descriptions`).send(texts).expect(200)
    const renamed = [view('First', 'select 1 as n', { dataWarehouseViewName: 'renamed' })]
    expect(await errorsOf({ views: renamed })).toEqual([
      ['/views/0/dataWarehouseViewName', expect.stringContaining('SQL of the data quality checks "Reads first" uses')],
    ])
    const corrected = [check('select * from renamed where n > 1')]
    expect(await apply({ dataQualityChecks: corrected, views: renamed })).toMatchObject({ updated: 2, pending: 1 })
    const { rows } = await sql`
      select d.table_name, d.column_name from table_descriptions d join schemas s on s.id = d.schema_id
      where s.uid = ${id} order by d.column_name`.execute(service.stack.db)
    expect(rows).toEqual([
      { table_name: 'renamed', column_name: '' },
      { table_name: 'renamed', column_name: 'n' },
    ])
  })

  it('are saved at once and created by runs, whatever their order; a wrong query makes its run fail', async () => {
    await renew()
    const configuration = {
      schemas: [schema('Health')],
      views: [
        view('Third', 'select * from second', { materialized: true, dataWarehouseViewName: 'third' }),
        view('Second', 'select n + 1 as n from first', { dataWarehouseViewName: 'second' }),
        view('First', 'select 1 as n', { dataWarehouseViewName: 'first' }),
        view('Wrong', 'select no_column from first', { dataWarehouseViewName: 'wrong' }),
      ],
    }
    const applied = await apply(configuration)
    expect(applied).toMatchObject({ pending: 4, message: expect.stringContaining('4 views wait for their runs') })
    const id = (name: string) => applied.changes.find((one: any) => one.name === name).id as string
    expect((await owner.get(`/views/${id('First')}`).expect(200)).body.status).toMatchObject({
      lastRunStatus: 'QUEUED',
    })
    await using worker = await spawnWorker(service.environment)
    const ended = (name: string) =>
      until(async () => {
        const { body } = await owner.get(`/views/${id(name)}`).expect(200)
        return /^(OK|FAILED)$/.test(body.status.lastRunStatus) && body
      })
    expect((await ended('Wrong')).status).toMatchObject({ lastRunStatus: 'FAILED' })
    await ended('Third')
    expect((await owner.get(`/views/${id('Third')}/data`).expect(200)).body.rows).toEqual([[2]])

    // A changed query is pending again, the others are left alone.
    const [third, second, , ...others] = configuration.views
    const changed = {
      views: [third!, second!, view('First', 'select 5 as n', { dataWarehouseViewName: 'first' }), ...others],
    }
    const result = await apply(changed)
    expect(result.changes.map(({ result, pending }: any) => [result, pending])).toEqual([
      ['UNCHANGED', false],
      ['UNCHANGED', false],
      ['UPDATED', true],
      ['UNCHANGED', false],
    ])
    await until(async () => {
      const { body } = await owner.get(`/views/${id('First')}/data`)
      return body.rows?.[0]?.[0] === 5
    })
    expect(worker.output()).not.toContain('"level":"fatal"')
  })

  it('take over the name of a deleted view whose drop is still due', async () => {
    await renew()
    await apply({ schemas: [schema('Health')] })
    const health = (await owner.get('/schemas').expect(200)).body[0].id
    const old = (
      await owner
        .post('/views')
        .send(viewBody(health, 'select 1 as n', { dataWarehouseViewName: 'same' }))
        .expect(201)
    ).body
    await owner.delete(`/views/${old.id}`).expect(204)
    // As if the warehouse had not been there.
    await service.stack.db
      .insertInto('warehouse_drops')
      .values({
        client,
        schema_name: old.schema.schemaName,
        table_name: 'same',
        try_after: sql<Date>`now() + interval '1 hour'`,
      })
      .execute()
    const { changes } = await apply({ views: [view('New', 'select 2 as n', { dataWarehouseViewName: 'same' })] })
    await using _worker = await spawnWorker(service.environment)
    await until(async () => {
      const { body } = await owner.get(`/views/${changes[0].id}/data`)
      return body.rows?.[0]?.[0] === 2
    })
    const drops = service.stack.db.selectFrom('warehouse_drops').selectAll().where('client', '=', client)
    expect(await drops.execute()).toEqual([])
  })
})

describe('applying', () => {
  it('is whole if the service is killed in its middle', async () => {
    await renew()
    const port = await freePort()
    const program = startProgram('pipeline/bin/serve.ts', {
      ...service.environment,
      PIPELINE_PORT: String(port),
      PIPELINE_PUBLIC_URL: `http://127.0.0.1:${port}`,
    })
    const url = `http://127.0.0.1:${port}`
    await ready(program, url)
    const configuration = {
      schemas: [schema('Health')],
      dataPipelines: [pipeline('P')],
      views: [view('V', 'select 1 as n')],
      workflows: [
        { name: 'W', disabled: false, runTrigger: 'NEVER', continuouslyUpdated: false, steps: { steps: [] } },
      ],
    }
    const person = await service.identity.person(client, [...everyManageRole])
    const sent = await service.stack.db.transaction().execute(async (trx) => {
      await sql`lock table workflows in share mode`.execute(trx)
      const answer = fetch(`${url}/api/v1/configuration/apply`, {
        method: 'POST',
        headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(configuration),
      }).catch(() => 'killed')
      await until(async () => {
        const { rows } = await sql<{ waiting: number }>`
          select count(*)::int as waiting from pg_locks where relation = 'workflows'::regclass and not granted`.execute(
          trx,
        )
        return rows[0]!.waiting > 0
      })
      await program.stop('SIGKILL')
      return answer
    })
    expect(sent).toBe('killed')
    expect(Object.values(await exported()).flat()).toEqual([])
    const runs = service.stack.db.selectFrom('runs').select('uid').where('client', '=', client)
    expect(await runs.execute()).toEqual([])
    expect(await apply(configuration)).toMatchObject({ created: 4 })
  })

  it('gives the same objects once, however many apply at once', async () => {
    await renew()
    const configuration = {
      schemas: [schema('Health')],
      dataPipelines: Array.from({ length: 20 }, (_one, index) => pipeline(`P ${index}`)),
    }
    const people = await Promise.all([1, 2, 3, 4].map(() => service.identity.person(client, ['ROLE_SUPER_ADMIN'])))
    const other = await service.serve()
    const answers = await Promise.all(
      people.map((person, index) =>
        service
          .as(person, index % 2 ? other.http : service.http)
          .post('/configuration/apply')
          .send(configuration),
      ),
    )
    await other.close()
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(answers.map(({ body }) => body.created).toSorted()).toEqual([0, 0, 0, 21])
  })

  it('needs the roles of the kinds in the configuration only', async () => {
    await renew()
    const loader = service.as(await service.identity.person(client, ['ROLE_MANAGE_SCHEMA', 'ROLE_SEE_VIEW']))
    await loader
      .post('/configuration/apply')
      .send({ schemas: [schema('Health')], views: [] })
      .expect(200)
    const { body } = await loader
      .post('/configuration/plan')
      .send({ views: [view('V', 'select 1')] })
      .expect(403)
    expect(body.detail).toBe(
      'Saving views requires ROLE_MANAGE_VIEW. Ask an administrator for this role, or remove views from the configuration.',
    )
    expect(Object.keys((await loader.get('/configuration').expect(200)).body)).toEqual(['schemas', 'views'])
    await loader.get('/configuration?kinds=workflows').expect(403)
  })

  it('refuses a body of more than 4 MB, and accepts one of more than 1 MB', async () => {
    await renew()
    const checks = (count: number) => ({
      dataQualityChecks: Array.from({ length: count }, (_one, index) => ({
        name: `C ${index}`,
        shortName: 'C',
        code: '',
        query: `select '${'x'.repeat(10_000)}'`,
      })),
    })
    expect(await plan(checks(150))).toMatchObject({ created: 150 })
    expect((await post('plan', checks(500)).expect(413)).body.detail).toContain('4194304')
  })

  it('of one organisation waits for its own requests only, and is refused if too many of them wait', async () => {
    await renew()
    const other = service.as(await service.identity.person((await service.identity.client()).id, [...everyManageRole]))
    const configuration = { schemas: [schema('Health')], dataPipelines: [pipeline('P')] }
    const sent = Array.from({ length: 40 }, () =>
      post('plan', configuration).then(({ status, body }) => [status, body.code]),
    )
    const theirs = other
      .post('/configuration/plan')
      .send(configuration)
      .then(({ status }) => status)
    expect(await theirs).toBe(200)
    const outcomes = (await Promise.all(sent)).map(String)
    expect(new Set(outcomes)).toEqual(new Set(['200,', '503,busy']))
    expect(outcomes.filter((one) => one === '200,').length).toBeGreaterThanOrEqual(20)
  })

  it('saves a thousand objects, and plans them again without a change', async () => {
    await renew()
    const indexes = Array.from({ length: 180 }, (_one, index) => index)
    const word = randomBytes(2).toString('hex')
    const configuration = {
      schemas: [schema('Health')],
      variables: indexes.map((index) => ({ name: `v${index}`, secured: true, value: `${word}-${index}` })),
      dataQualityChecks: indexes.map((index) => ({ name: `c${index}`, shortName: 'C', code: '', query: 'select 1' })),
      dataPipelines: indexes.map((index) => pipeline(`p${index}`, database(`${word}-${index}`))),
      views: indexes.map((index) => view(`w${index}`, 'select 1 as one')),
      destinations: indexes.map((index) => ({
        name: `d${index}`,
        disabled: false,
        runTrigger: 'NEVER',
        viewSource: { name: `w${index}` },
        apiTokenTarget: { url: 'https://dhis2.example.org', authToken: `${word}-${index}` },
      })),
      workflows: indexes.slice(0, 100).map((index) => ({
        name: `f${index}`,
        disabled: false,
        runTrigger: 'NEVER',
        continuouslyUpdated: false,
        steps: { steps: [{ jobs: [{ jobType: 'DATA_PIPELINE_LOAD', object: { name: `p${index}` } }] }] },
      })),
    }
    const measured = async (work: () => Promise<any>) => {
      const query = jest.spyOn(pg.Client.prototype, 'query')
      const [start, memory] = [performance.now(), process.memoryUsage().rss]
      const result = await work()
      const { length: statements } = query.mock.calls
      query.mockRestore()
      const [ms, mb] = [performance.now() - start, (process.memoryUsage().rss - memory) / 2 ** 20].map(Math.round)
      return { result, statements, ms, mb }
    }
    const first = await measured(() => apply(configuration))
    const second = await measured(() => plan(configuration))
    const third = await measured(exported)
    expect(first.result).toMatchObject({ created: 1_001, pending: 180 })
    expect(second.result).toMatchObject({ updated: 0, created: 0, unchanged: 1_001, missing: 0 })
    expect(third.result.destinations).toHaveLength(180)
    for (const [what, { statements, ms, mb }] of Object.entries({ apply: first, plan: second, export: third }))
      console.info(`${what} of 1,001 objects: ${statements} statements, ${ms} ms, ${mb} MB more memory`)
    expect(first.statements).toBeLessThan(6_000)
    expect(second.statements).toBeLessThan(4_000)
    expect(third.statements).toBeLessThan(100)
  })
})
