import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { serviceClient } from '@sluice/client'
import { identityOperations } from '@sluice/contracts'
import { until } from '@sluice/testing/wait-until'
import { sql } from 'kysely'
import pg from 'pg'
import { type Asking, type Service, pipelineBody, schemaBody, startService } from './app-under-test.ts'
import { everyManageRole } from './manage-roles.ts'

let service: Service
let client: string
let owner: Asking
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.stop())

beforeEach(() => renew())

/** Starts with another, empty organisation. */
async function renew(): Promise<void> {
  client = (await service.identity.client()).id
  owner = await colleague()
}

const colleague = async () => service.as(await service.identity.person(client, [...everyManageRole]))
const at = '/jdbcSource/password'
const secret = () => randomBytes(9).toString('base64url')
const shared = { access: { publicAccess: 'READ_WRITE' } }
const health = schemaBody({ name: 'Health' })
const sharedHealth = { ...health, ...shared }
const database = (name: string, password?: string) => ({
  ...pipelineBody('', { name, dataWarehouseTarget: { schema: { name: 'Health' } } }),
  type: 'SQL_DATABASE_D',
  jdbcSource: {
    hostname: 'db.example.org',
    database: 'registry',
    username: 'reader',
    ...(password !== undefined && { password }),
  },
  sqlQuery: 'select 1',
})
const plan = (dataPipelines: object[], by = owner) => by.post('/configuration/plan').send({ dataPipelines })
const apply = (configuration: object, query = '', by = owner) =>
  by.post(`/configuration/apply${query}`).send(configuration)
const auditOf = async (operation: string) =>
  (await service.stack.db
    .selectFrom('audit')
    .select('details')
    .where('client', '=', client)
    .where('operation', '=', operation)
    .orderBy('id')
    .execute()) as { details: any }[]

describe('guesses of stored secrets by planning', () => {
  it('are in the audit log with kind, name, pointer and result, and without the values', async () => {
    const [right, wrong] = [secret(), secret()]
    await apply({ schemas: [health], dataPipelines: [database('P', right)] }).expect(200)
    await plan([database('P', wrong)]).expect(200)
    await plan([database('P', right)]).expect(200)
    await plan([database('P')]).expect(200)
    const compared = (state: string) => [{ kind: 'dataPipelines', name: 'P', pointer: at, state }]
    const rows = await auditOf('configuration.plan')
    expect(rows.map(({ details }) => details.compared)).toEqual([compared('CHANGED'), compared('SAME'), undefined])
    const { rows: stored } = await sql`select * from secret_comparisons where client = ${client}`.execute(
      service.stack.db,
    )
    expect(stored).toHaveLength(2)
    expect(JSON.stringify([rows, stored])).not.toMatch(new RegExp(`${right}|${wrong}`))
  })

  it('are refused after 20 different wrong values of a user, right or wrong, and the refusal tells neither', async () => {
    const right = secret()
    await apply({ schemas: [sharedHealth], dataPipelines: [{ ...database('P', right), ...shared }] }).expect(200)
    const guesses = Array.from({ length: 20 }, secret)
    for (const guess of guesses) await plan([database('P', guess)]).expect(200)
    const [correct, incorrect] = [await plan([database('P', right)]), await plan([database('P', secret())])]
    expect([correct.status, incorrect.status]).toEqual([429, 429])
    expect(correct.body.detail).toBe(incorrect.body.detail)
    expect(correct.body.detail).toMatch(
      /^Too many values differed from stored secrets within an hour, .* try again in 60 minutes\.$/,
    )
    expect(Number(correct.headers['retry-after'])).toBeGreaterThan(3_500)
    const refused = (await auditOf('configuration.plan')).slice(-2).map(({ details }) => details)
    expect(refused).toEqual(
      refused.map(() => ({ outcome: 'FAILED', compared: [{ kind: 'dataPipelines', name: 'P', pointer: at }] })),
    )
    // Values that were compared before, plans without secrets, and plans of other users are still accepted.
    await plan([database('P', guesses[0])]).expect(200)
    await plan([database('P')]).expect(200)
    await plan([database('P', right)], await colleague()).expect(200)
    await sql`
      update secret_comparisons set compared_at = compared_at - interval '1 hour' where client = ${client}`.execute(
      service.stack.db,
    )
    await plan([database('P', right)]).expect(200)
  })

  it('are counted for the organisation, and when the request fails for another reason', async () => {
    const names = Array.from({ length: 20 }, (_one, index) => `P ${index}`)
    const stored = ['P', ...names].map((name) => ({ ...database(name, secret()), ...shared }))
    await apply({ schemas: [sharedHealth], dataPipelines: stored }).expect(200)
    const wrong = (count: number) => names.slice(0, count).map((name) => database(name, secret()))
    for (const count of [20, 20, 19]) await plan(wrong(count), await colleague()).expect(200)
    await plan([database('P', secret())], await colleague()).expect(200)
    await plan([database('P', secret())], await colleague()).expect(429)
    await renew()
    await apply({ schemas: [sharedHealth], dataPipelines: stored }).expect(200)
    await plan(wrong(19)).expect(200)
    const views = [view('V', 'select * from v')]
    await apply({ dataPipelines: [database('P', secret())], views }).expect(422)
    expect((await auditOf('configuration.apply')).at(-1)!.details).toMatchObject({
      outcome: 'FAILED',
      compared: [{ state: 'CHANGED' }],
    })
    await plan([database('P', secret())]).expect(429)
  })

  it('are recorded without the changes of an apply that fails when it commits', async () => {
    await apply({ schemas: [health], dataPipelines: [database('P', secret())] }).expect(200)
    const { db } = service.stack
    await sql`
      create function refuse_commit() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`.execute(db)
    await sql`
      create constraint trigger refuse_commit after update on data_pipelines deferrable initially deferred
      for each row execute function refuse_commit()`.execute(db)
    try {
      await apply({ dataPipelines: [database('P', secret())] }).expect(500)
    } finally {
      await sql`drop function refuse_commit cascade`.execute(db)
    }
    const rows = await auditOf('configuration.apply')
    expect(rows.slice(-1)).toMatchObject([{ details: { outcome: 'FAILED', compared: [{ state: 'CHANGED' }] } }])
    // One row for the first apply, one for each of its two objects, and the failed one.
    expect(rows).toHaveLength(4)
  })

  it('do not stop a plan that replaces all secrets, or the same plan again', async () => {
    const names = Array.from({ length: 25 }, (_one, index) => `P ${index}`)
    await apply({ schemas: [health], dataPipelines: names.map((name) => database(name, secret())) }).expect(200)
    const rotated = names.map((name) => database(name, secret()))
    for (let time = 0; time < 3; time += 1) expect((await plan(rotated).expect(200)).body.updated).toBe(25)
    await plan([database('P 1', secret())]).expect(429)
    expect((await apply({ dataPipelines: rotated }).expect(200)).body.updated).toBe(25)
  })
})

const view = (name: string, query: string) => ({
  name,
  schema: { name: 'Health' },
  query,
  materialized: false,
  disabled: false,
  runTrigger: 'NEVER',
  dataWarehouseViewName: name.toLowerCase(),
})

describe('the plan that an apply requires', () => {
  it('binds the secrets of the document and the stored ones', async () => {
    const [stored, first, second] = [secret(), secret(), secret()]
    await apply({ schemas: [health], dataPipelines: [database('P', stored)] }).expect(200)
    const planned = async (password?: string) => (await plan([database('P', password)]).expect(200)).body.plan
    const applied = (token: string, password?: string) =>
      apply({ dataPipelines: [database('P', password)] }, `?plan=${token}`)
    const token = await planned(first)
    await applied(token, second).expect(412)
    await applied(token, first).expect(200)
    const later = await planned(second)
    await apply({ dataPipelines: [database('P', stored)] }).expect(200)
    await applied(later, second).expect(412)
    await applied(await planned(second), second).expect(200)
  })

  it('does not reveal whether a stored secret equals an earlier one', async () => {
    const before = secret()
    await apply({ schemas: [health], dataPipelines: [database('P', before)] }).expect(200)
    const first = (await plan([database('P')]).expect(200)).body.plan
    expect((await plan([database('P')]).expect(200)).body.plan).toBe(first)
    await apply({ dataPipelines: [database('P', secret())] }).expect(200)
    await apply({ dataPipelines: [database('P', before)] }).expect(200)
    expect((await plan([database('P')]).expect(200)).body.plan).not.toBe(first)
  })
})

describe('a configuration that renames many variables', () => {
  it('reads the objects that could use them once', async () => {
    const names = Array.from({ length: 60 }, (_one, index) => `V${index}`)
    const variables = names.map((name) => ({ name, secured: false, value: 'x' }))
    await apply({
      schemas: [health],
      variables,
      dataPipelines: [{ ...database('P', secret()), sqlQuery: 'select ${V59}' }],
    }).expect(200)
    const query = jest.spyOn(pg.Client.prototype, 'query')
    const renamed = names.map((name) => ({ name: `NEW_${name}`, was: name, secured: false, value: 'x' }))
    const { body } = await owner.post('/configuration/plan').send({ variables: renamed }).expect(422)
    const searches = query.mock.calls.filter(([given]) => /strpos\(r\.transformation/.test(JSON.stringify(given)))
    query.mockRestore()
    expect(body.errors).toEqual([
      { pointer: '/variables/59/name', detail: expect.stringContaining('${V59} is used by the data pipelines "P"') },
    ])
    expect(searches).toHaveLength(1)
    await apply({ variables: renamed.slice(0, -1) }).expect(200)
  })
})

describe('a configuration that takes long', () => {
  const checks = Array.from({ length: 300 }, (_one, index) => ({
    name: `C ${index}`,
    shortName: 'C',
    code: '',
    query: 'select 1',
  }))
  /** Holds the lock of the organisation's configurations while `work` runs. */
  const whileLocked = (work: (release: () => void) => Promise<void>) =>
    service.stack.db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${`configuration:${client}`}, 0))`.execute(trx)
      const released = Promise.withResolvers<void>()
      const working = work(released.resolve)
      await Promise.race([released.promise, working])
      return { working }
    })

  it('ends with its connection, and saves nothing', async () => {
    const person = await service.identity.person(client, [...everyManageRole])
    const { working } = await whileLocked(async (release) => {
      const leaving = new AbortController()
      const sent = fetch(`${service.url}/api/v1/configuration/apply`, {
        method: 'POST',
        headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ dataQualityChecks: checks }),
        signal: leaving.signal,
      }).catch(() => 'left')
      await until(async () => {
        const { rows } = await sql<{ waiting: number }>`
          select count(*)::int as waiting from pg_locks where locktype = 'advisory' and not granted`.execute(
          service.stack.db,
        )
        return rows[0]!.waiting > 0
      })
      leaving.abort()
      expect(await sent).toBe('left')
      await sleep(100)
      release()
    })
    await working
    // The lock is free again when the transaction of the request has ended.
    await whileLocked(async (release) => release())
    expect((await owner.get('/data-quality-checks?paging=false').expect(200)).body).toEqual([])
  })

  it('ends at its time limit with one sentence', async () => {
    const timeout = jest.spyOn(AbortSignal, 'timeout')
    timeout.mockImplementation(() => AbortSignal.abort(new Error('the time limit')))
    const { body } = await apply({ dataQualityChecks: checks }).expect(422)
    const limits = timeout.mock.calls.map(([ms]) => ms)
    timeout.mockRestore()
    expect(limits).toContain(300_000)
    expect(body.detail).toBe(
      'The configuration took longer than 5 minutes, so nothing was saved. Split it into several documents, by kinds for example.',
    )
    expect((await owner.get('/data-quality-checks?paging=false').expect(200)).body).toEqual([])
  })
})

describe('names in a configuration', () => {
  it('are refused if they mean both a user and an application', async () => {
    const { identity } = service
    const person = await identity.person(client, [])
    const admin = serviceClient({ baseUrl: identity.url, token: () => identity.adminToken, timeout: 20_000 })
    const { ssoClientConfigs } = identityOperations
    const application = {
      ssoClientId: person.username,
      clientSecret: randomBytes(32).toString('base64url'),
      clientName: 'Reports',
      redirectUris: ['https://reports.example.org/callback'],
      scopes: ['openid' as const],
      grantTypes: [{ value: 'authorization_code' as const }],
      client: { id: client },
    }
    await admin.call(ssoClientConfigs.create, { body: application })
    const access = { userAccess: [{ username: person.username }] }
    const { body } = await apply({ schemas: [{ ...health, access }] }).expect(422)
    expect(body.errors).toEqual([
      {
        pointer: '/schemas/0/access/userAccess/0/username',
        detail: `Both a user and an application are named "${person.username}", so this entry could mean either. Remove it, and share the object in a request with the id.`,
      },
    ])
  })

  it('of hidden objects are revealed by plans only where creation reveals them, too', async () => {
    await apply({ schemas: [health] }).expect(200)
    const viewer = service.as(await service.identity.person(client, ['ROLE_MANAGE_VIEW', 'ROLE_SEE_VIEW']))
    const errorsOf = async (schema: string) => {
      const views = [{ ...view('V', 'select 1'), schema: { name: schema } }]
      const { body } = await viewer.post('/configuration/plan').send({ views }).expect(422)
      return JSON.stringify(body.errors).replaceAll(schema, '?')
    }
    expect(await errorsOf('Health')).toBe(await errorsOf('Missing'))
    expect(await errorsOf('Health')).toContain('No schema that you may see has the name')
    const other = await colleague()
    const planned = await other
      .post('/configuration/plan')
      .send({ schemas: [health] })
      .expect(422)
    const created = await other.post('/schemas').send(health).expect(409)
    expect(planned.body.errors[0]).toEqual({
      pointer: '/schemas/0/name',
      detail: `${created.body.errors[0].detail} Choose another name.`,
    })
  })

  it('of hidden views are not in the message about a cycle', async () => {
    await apply({
      schemas: [sharedHealth],
      views: [view('A', 'select * from b'), { ...view('B', 'select 1 as one'), ...shared }],
    }).expect(200)
    await sql`
      insert into view_sources (view_id, schema_name, relation_name)
      select v.id, s.schema_name, 'b' from views v join schemas s on s.id = v.schema_id
      where v.client = ${client} and v.name = 'A'`.execute(service.stack.db)
    const { body } = await (await colleague())
      .post('/configuration/plan')
      .send({ views: [view('B', 'select * from a')] })
      .expect(422)
    expect(body.errors[0].detail).toMatch(/^The views "B" and 1 more read each other in a cycle/)
  })
})
