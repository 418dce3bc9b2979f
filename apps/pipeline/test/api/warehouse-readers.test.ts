import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { serviceClient } from '@sluice/client'
import { identityOperations, type NewWarehouseReader, type Role } from '@sluice/contracts'
import { warehouseTypes } from '@sluice/contracts/connector-types'
import { until } from '@sluice/testing/wait-until'
import { columns, loadAll } from '@sluice/warehouses/testing/row-fixtures'
import { connected, superuserUrl } from '@sluice/warehouses/testing/scratch-warehouse'
import { sql } from 'kysely'
import type { Person } from '../join-shared-identity-service.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { type Asking, type Service, schemaBody, startService } from './app-under-test.ts'

const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'] as const

let service: Service
let person: Person
let owner: Asking
let health: string
let finance: string
beforeAll(async () => {
  service = await startService()
  ;({
    person,
    owner,
    schemas: [health, finance],
  } = await newOrganisation())
})
afterAll(() => service?.stop())

/** An organisation with two schemas, each with a table of three rows. */
async function newOrganisation(more: Role[] = []) {
  const client = await service.identity.client()
  const person = await service.identity.person(client.id, [...roles, ...more])
  const owner = service.as(person)
  const made = []
  for (const schemaName of ['health', 'finance']) {
    made.push((await owner.post('/schemas').send(schemaBody({ schemaName })).expect(201)).body.id as string)
    await loadTable(client.id, schemaName)
  }
  return { client, person, owner, schemas: made as [string, string] }
}

async function loadTable(client: string, schema: string, table = 'cases') {
  const warehouse = await service.stack.warehouses.open(client)
  await warehouse.catalog.ensureSchema(schema)
  await loadAll(warehouse, { schema, table, columns: columns({ id: 'INTEGER' }) }, [[1], [2], [3]])
}

const body = (changes: object = {}) => ({
  name: `Reader ${randomBytes(6).toString('hex')}`,
  schemas: [{ id: health }],
  ...changes,
})
const create = async (changes: object = {}, by = owner): Promise<NewWarehouseReader> =>
  (await by.post('/warehouse-readers').send(body(changes)).expect(201)).body
/** Connects with the returned string, but without TLS, which the test server does not have. */
const connect = ({ connectionStrings }: NewWarehouseReader) =>
  connected(connectionStrings.libpq!.replace(/sslmode=.*&options/, 'sslmode=disable&options'))
const outcome = (attempt: Promise<unknown>) => attempt.then(() => 'done').catch((error: { code: string }) => error.code)

describe('a warehouse reader', () => {
  it('is created with a password that only this response contains, and reads its schemas', async () => {
    const sent = body({ translations: [{ locale: 'fr', property: 'name', value: 'Lecteur' }] })
    const made = await owner.post('/warehouse-readers').send(sent).expect(201)
    const { password, connectionStrings, ...rest } = made.body as NewWarehouseReader
    expect(made.headers['location']).toBe(`/api/v1/warehouse-readers/${made.body.id}`)
    expect(rest).toMatchObject({
      name: sent.name,
      client: person.client,
      createdBy: person.username,
      schemas: [{ id: health, schemaName: 'health' }],
      readerStatus: 'ACTIVE',
      connection: {
        host: '127.0.0.1',
        sslMode: 'verify-full',
        user: expect.stringMatching(/^c_[a-f0-9]+_r_[a-f0-9]{16}$/),
      },
    })
    const { host, port, database, user } = rest.connection
    const place = `${host}:${port}/${database}`
    const parameters = 'sslmode=verify-full&sslrootcert=warehouse.pem'
    expect(connectionStrings).toEqual({
      libpq: `postgresql://${user}:${password}@${place}?${parameters}&options=-csearch_path%3Dhealth`,
      jdbc: `jdbc:postgresql://${place}?user=${user}&password=${password}&${parameters}&currentSchema=health`,
      odbc: `Driver={PostgreSQL Unicode};Server=${host};Port=${port};Database=${database};Uid=${user};Pwd=${password};SSLmode=verify-full;pqopt={sslrootcert=warehouse.pem options='-csearch_path=health'};`,
      sqlalchemy: `postgresql+psycopg://${user}:${password}@${place}?${parameters}&options=-csearch_path%3Dhealth`,
    })
    await using session = await connect(made.body)
    expect((await session.query('select count(*)::int as count from cases')).rows).toEqual([{ count: 3 }])
    expect(await outcome(session.query('select * from finance.cases'))).toBe('42501')

    const read = await owner.get(`/warehouse-readers/${made.body.id}`).set('Accept-Language', 'fr').expect(200)
    expect(read.body).toEqual({ ...rest, displayName: 'Lecteur' })
    const put = await owner.put(`/warehouse-readers/${made.body.id}`).set('If-Match', '"1"').send(read.body).expect(200)
    expect(put.body).toMatchObject({ name: sent.name, readerStatus: 'ACTIVE' })
    await owner.put(`/warehouse-readers/${made.body.id}`).set('If-Match', '"1"').send(read.body).expect(412)
    const { body: listed } = await owner.get(`/warehouse-readers?filter=name:eq:${sent.name}`).expect(200)
    expect(listed).toEqual([put.body])
    const stored = await service.stack.db.selectFrom('warehouse_readers').selectAll().execute()
    const { rows: audit } = await sql`select * from audit`.execute(service.stack.db)
    for (const text of [JSON.stringify(stored), JSON.stringify(audit), service.log(), read.text, put.text])
      expect(text).not.toContain(password)
  })

  it('gets and loses schemas by PUT, and a new password by rotate, which ends its sessions', async () => {
    const made = await create({ schemas: [{ id: health }, { id: finance }] })
    await using first = await connect(made)
    expect(await outcome(first.query('select * from finance.cases'))).toBe('done')
    const { body: changed } = await owner.put(`/warehouse-readers/${made.id}`).send(body()).expect(200)
    expect(changed).toMatchObject({ schemas: [{ id: health }], readerStatus: 'ACTIVE' })
    expect(await outcome(first.query('select 1'))).not.toBe('done')
    await using second = await connect(made)
    expect(await outcome(second.query('select * from finance.cases'))).toBe('42501')
    const { body: rotated } = await owner.post(`/warehouse-readers/${made.id}/rotate`).expect(200)
    expect(rotated.connection).toEqual(made.connection)
    expect(await outcome(second.query('select 1'))).not.toBe('done')
    expect(await outcome(connect(made))).toBe('28P01')
    await using third = await connect(rotated)
    expect(await outcome(third.query('select * from cases'))).toBe('done')
    await owner.delete(`/warehouse-readers/${made.id}`).expect(204)
    expect(await outcome(third.query('select 1'))).not.toBe('done')
    expect(await outcome(connect(rotated))).toBe('28P01')
    const { rows } = await sql<{ operation: string; details: unknown }>`
      select operation, details from audit where object = ${made.id} order by id`.execute(service.stack.db)
    expect(rows.map(({ operation }) => operation)).toEqual(
      ['create', 'update', 'rotate', 'delete'].map((verb) => `warehouseReaders.${verb}`),
    )
  })

  it('can be created for a schema that has no tables yet, and reads them after the first load', async () => {
    const schemaName = `empty_${randomBytes(4).toString('hex')}`
    const { body: schema } = await owner.post('/schemas').send(schemaBody({ schemaName })).expect(201)
    const made = await create({ schemas: [{ id: schema.id }] })
    await using session = await connect(made)
    await loadTable(person.client, schemaName, 'first')
    expect((await session.query('select * from first')).rowCount).toBe(3)
  })

  it('loses a schema that is deleted, and is deleted with its last schema', async () => {
    const { body: doomed } = await owner.post('/schemas').send(schemaBody()).expect(201)
    const [both, only] = [
      await create({ schemas: [{ id: health }, { id: doomed.id }] }),
      await create({ schemas: [{ id: doomed.id }] }),
    ]
    const sessions = [await connect(both), await connect(only)]
    await owner.delete(`/schemas/${doomed.id}`).expect(204)
    for (const session of sessions) expect(await outcome(session.query('select 1'))).not.toBe('done')
    expect((await owner.get(`/warehouse-readers/${both.id}`).expect(200)).body).toMatchObject({
      schemas: [{ id: health }],
      readerStatus: 'ACTIVE',
    })
    await owner.get(`/warehouse-readers/${only.id}`).expect(404)
    expect(await outcome(connect(only))).toBe('28P01')
    const { rows } = await sql<{
      operation: string
    }>`select operation from audit where object = ${only.id} order by id`.execute(service.stack.db)
    expect(rows.map(({ operation }) => operation)).toEqual(['warehouseReaders.create', 'schemas.delete'])
  })
})

describe('the guard of warehouse readers', () => {
  it('requires the role for all data besides the role for schemas, except to see and delete readers', async () => {
    const made = await create()
    const manager = service.as(await service.identity.person(person.client, ['ROLE_MANAGE_SCHEMA']))
    const detail =
      'This also needs ROLE_VIEW_DATA_ALL_DATA_PIPELINE, because a warehouse reader reads all rows of its schemas.'
    expect((await manager.post('/warehouse-readers').send(body()).expect(403)).body.detail).toBe(detail)
    expect((await manager.put(`/warehouse-readers/${made.id}`).send(body()).expect(403)).body.detail).toBe(detail)
    expect((await manager.post(`/warehouse-readers/${made.id}/rotate`).expect(403)).body.detail).toBe(detail)
    await manager.get(`/warehouse-readers/${made.id}`).expect(200)
    await manager.delete(`/warehouse-readers/${made.id}`).expect(204)
  })

  it('hides schemas that are not shared with the caller, who can neither use them nor rotate their readers', async () => {
    const access = { publicAccess: 'NONE', userAccess: [], userGroupAccess: [] }
    const { body: secret } = await owner
      .post('/schemas')
      .send(schemaBody({ description: 'Secret', access }))
      .expect(201)
    const made = await create({ schemas: [{ id: health }, { id: secret.id }] })
    const other = service.as(await service.identity.person(person.client, [...roles]))
    const { body: seen } = await other.get(`/warehouse-readers/${made.id}`).expect(200)
    expect(seen.schemas[1]).toEqual({ id: secret.id, name: secret.name, schemaName: secret.schemaName })
    expect(
      (
        await other
          .post('/warehouse-readers')
          .send(body({ schemas: [{ id: secret.id }] }))
          .expect(422)
      ).body.errors,
    ).toEqual([
      {
        pointer: '/schemas/0/id',
        detail: `No schema that you may see has the id ${secret.id}. Choose another schema.`,
      },
    ])
    await other.post(`/warehouse-readers/${made.id}/rotate`).expect(403)
    const stranger = (await newOrganisation()).owner
    await stranger.get(`/warehouse-readers/${made.id}`).expect(404)
    await stranger.post(`/warehouse-readers/${made.id}/rotate`).expect(404)
    await stranger.post('/warehouse-readers').send(body()).expect(422)
  })

  it('gives networks only to holders of the roles for firewall rules, and refuses them for a server run by others', async () => {
    const networks = ['192.0.2.0/24']
    expect((await owner.post('/warehouse-readers').send(body({ networks })).expect(403)).body.detail).toMatch(
      /needs ROLE_MANAGE_FIREWALL_RULE/,
    )
    expect(await create({ networks: [] })).not.toHaveProperty('networks')
    const guard = service.as(await service.identity.person(person.client, [...roles, 'ROLE_MANAGE_FIREWALL_RULE']))
    const { body: schema } = await guard.post('/schemas').send(schemaBody()).expect(201)
    const schemas = [{ id: schema.id }]
    expect((await guard.post('/warehouse-readers').send(body({ schemas, networks })).expect(422)).body.errors).toEqual([
      {
        pointer: '/networks',
        detail: expect.stringMatching(/^Networks can only be restricted on a PostgreSQL server/),
      },
    ])
    expect(await create({ schemas }, guard)).toMatchObject({ networks: [] })
  })
})

describe('networks of a warehouse reader, on a server that Sluice runs', () => {
  let folder: string
  let rules: string
  let other: Service
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-rules-'))
    rules = join(folder, 'rules.conf')
    other = await startService({ hbaInclude: rules })
  })
  afterAll(async () => {
    await other?.stop()
    await rm(folder, { recursive: true })
  })

  it('are written as rules before the login exists, seen and changed only with the roles, and end with the reader', async () => {
    const client = await other.identity.client()
    const person = await other.identity.person(client.id, [...roles, 'ROLE_MANAGE_FIREWALL_RULE'])
    const [guard, colleague] = [other.as(person), other.as(await other.identity.person(client.id, [...roles]))]
    const access = { publicAccess: 'READ', userAccess: [], userGroupAccess: [] }
    const { body: schema } = await guard.post('/schemas').send(schemaBody({ access })).expect(201)
    const networks = ['192.0.2.0/24', '2001:db8::/32']
    const sent = body({ schemas: [{ id: schema.id }], networks })
    const made = await create(sent, guard)
    const { database, user } = made.connection
    expect(made.networks).toEqual(networks)
    const written = () => readFile(rules, 'utf8')
    for (const network of networks)
      expect(await written()).toContain(`hostssl ${database} ${user} ${network} scram-sha-256\n`)
    expect(await written()).toContain(`host all ${user} all reject\n`)

    const { body: seen } = await colleague.get(`/warehouse-readers/${made.id}`).expect(200)
    expect(seen).not.toHaveProperty('networks')
    await colleague.put(`/warehouse-readers/${made.id}`).send(seen).expect(200)
    await colleague
      .put(`/warehouse-readers/${made.id}`)
      .send({ ...seen, networks: [] })
      .expect(403)
    expect(await written()).toContain(`${user} 192.0.2.0/24 `)
    const { body: changed } = await guard
      .put(`/warehouse-readers/${made.id}`)
      .send({ ...sent, networks: ['198.51.100.7/32'] })
      .expect(200)
    expect(changed.networks).toEqual(['198.51.100.7/32'])
    expect(await written()).toContain(`${user} 198.51.100.7/32 `)
    expect(await written()).not.toContain('192.0.2.0/24')
    await guard.delete(`/warehouse-readers/${made.id}`).expect(204)
    expect(await written()).not.toContain(user)
  })
})

describe('bad input for a warehouse reader', () => {
  it.each<[string, () => object, number, object]>([
    ['no schemas', () => ({ schemas: [] }), 400, { pointer: '/schemas' }],
    ['an unknown schema', () => ({ schemas: [{ id: randomUUID() }] }), 422, { pointer: '/schemas/0/id' }],
    [
      'a schema twice',
      () => ({ schemas: [{ id: health }, { id: health }] }),
      422,
      { pointer: '/schemas/1', detail: 'This schema is in the list twice. Remove one of them.' },
    ],
    [
      'an expiry in the past',
      () => ({ expires: '2020-01-01T00:00:00Z' }),
      422,
      {
        pointer: '/expires',
        detail: 'This time is in the past. Choose a later time, or delete the reader to end it now.',
      },
    ],
    ['an invalid expiry', () => ({ expires: 'tomorrow' }), 400, { pointer: '/expires' }],
    ['a network without a prefix', () => ({ networks: ['192.0.2.1'] }), 400, { pointer: '/networks/0' }],
    [
      'a network with host bits',
      () => ({ networks: ['10.0.0.0/8', '192.0.2.1/24'] }),
      422,
      {
        pointer: '/networks/1',
        detail: '"192.0.2.1/24" has address bits behind its prefix. For the single address, write 192.0.2.1/32.',
      },
    ],
    [
      'a rule of pg_hba as network',
      () => ({ networks: ['0.0.0.0/0 trust\nhost all all 0.0.0.0/0'] }),
      400,
      { pointer: '/networks/0' },
    ],
    ['a name of two lines', () => ({ name: 'a\nb' }), 400, { pointer: '/name' }],
    ['an empty name', () => ({ name: ' ' }), 400, { pointer: '/name' }],
    ['an unknown field', () => ({ colour: 'red' }), 400, { pointer: '/colour' }],
    ['a password', () => ({ password: 'chosen' }), 400, { pointer: '/password' }],
  ])('is refused: %s', async (_what, changes, status, violation) => {
    const answer = await owner.post('/warehouse-readers').send(body(changes())).expect(status)
    expect(answer.body.errors).toContainEqual(expect.objectContaining(violation))
  })

  it('is refused for a name in use, for a schema without a warehouse, and for schemas of two warehouses', async () => {
    const made = await create()
    expect(
      (
        await owner
          .post('/warehouse-readers')
          .send(body({ name: made.name }))
          .expect(409)
      ).body.errors,
    ).toEqual([{ pointer: '/name', detail: 'Another warehouse reader has this name.' }])
    const { body: none } = await owner
      .post('/schemas')
      .send(schemaBody({ providerSchema: 'NA' }))
      .expect(201)
    expect(
      (
        await owner
          .post('/warehouse-readers')
          .send(body({ schemas: [{ id: none.id }] }))
          .expect(422)
      ).body.errors,
    ).toEqual([
      {
        pointer: '/schemas',
        detail: 'Warehouse readers are available for schemas in PostgreSQL and ClickHouse. This schema is in none.',
      },
    ])
    const both = body({ schemas: [{ id: health }, { id: none.id }] })
    expect((await owner.post('/warehouse-readers').send(both).expect(422)).body.errors[0].pointer).toBe('/schemas/1')
    expect(
      (
        await owner
          .put(`/schemas/${health}`)
          .send(schemaBody({ schemaName: 'health', providerSchema: 'NA' }))
          .expect(422)
      ).body.errors[0].pointer,
    ).toBe('/providerSchema')
  })

  it('is refused beyond twenty readers of an organisation', async () => {
    const { owner: many, client, schemas } = await newOrganisation()
    const { key } = await service.stack.db
      .selectFrom('warehouses')
      .select('key')
      .where('client', '=', client.id)
      .executeTakeFirstOrThrow()
    await sql`insert into warehouse_readers (client, name, provider_schema, login, schema_ids)
      select ${client.id}, 'r' || n, ${warehouseTypes.postgres}, 'c_' || ${key}::text || '_r_' || lpad(to_hex(n), 16, '0'), '[1]'
      from generate_series(1, 19) n`.execute(service.stack.db)
    const attempts = await Promise.all(
      [1, 2, 3].map(() => many.post('/warehouse-readers').send(body({ schemas: [{ id: schemas[0] }] }))),
    )
    expect(attempts.map(({ status }) => status).toSorted()).toEqual([201, 422, 422])
    expect(attempts.find(({ status }) => status === 422)!.body.detail).toMatch(
      /has 20 warehouse readers, which is the maximum/,
    )
    await service.stack.db.deleteFrom('warehouse_readers').where('client', '=', client.id).execute()
  })
})

describe('while a worker runs, a warehouse reader', () => {
  let worker: Awaited<ReturnType<typeof spawnWorker>>
  beforeAll(async () => {
    worker = await spawnWorker(service.environment)
  })
  afterAll(() => worker?.[Symbol.asyncDispose]())

  /** Returns the milliseconds until the session has ended. */
  async function endOf(session: Awaited<ReturnType<typeof connect>>, from = Date.now()): Promise<number> {
    await until(async () => (await outcome(session.query('select 1'))) !== 'done', { within: 20_000 })
    return Date.now() - from
  }

  it('ends within ten seconds after it expires, session included, and begins again with a later expiry', async () => {
    const expires = new Date(Date.now() + 3_000)
    const made = await create({ expires: expires.toISOString() })
    await using session = await connect(made)
    expect(await endOf(session, expires.getTime())).toBeLessThan(10_000)
    expect(await outcome(connect(made))).not.toBe('done')
    const { body: expired } = await owner.get(`/warehouse-readers/${made.id}`).expect(200)
    expect(expired.readerStatus).toBe('EXPIRED')
    expect(Date.now() - Date.parse(expired.lastUsed)).toBeLessThan(60_000)
    const { body: renamed } = await owner
      .put(`/warehouse-readers/${made.id}`)
      .send({ ...expired, name: `${made.name} 2` })
      .expect(200)
    expect(renamed.readerStatus).toBe('EXPIRED')
    await owner.put(`/warehouse-readers/${made.id}`).send(body()).expect(200)
    expect(await outcome(connect(made))).toBe('done')
  })

  it('ends within ten seconds after its organisation is disabled, and begins again after it is enabled', async () => {
    const { client, person: boss, owner: by, schemas } = await newOrganisation(['ROLE_SUPER_ADMIN'])
    const made = await create({ schemas: [{ id: schemas[0] }] }, by)
    const update = (changes: object) =>
      serviceClient({ baseUrl: service.identity.url, token: () => boss.token }).call(
        identityOperations.clients.update,
        {
          params: { uid: client.id },
          body: { ...client, ...changes },
        },
      )
    await using session = await connect(made)
    await update({ pipelinesEnabled: false })
    expect(await endOf(session)).toBeLessThan(10_000)
    expect(await outcome(connect(made))).not.toBe('done')
    await update({ pipelinesEnabled: true })
    await until(async () => (await outcome(connect(made))) === 'done', { within: 10_000 })
  })

  it('ends within ten seconds after its organisation is deleted', async () => {
    const { client, person: member, owner: by, schemas } = await newOrganisation()
    const made = await create({ schemas: [{ id: schemas[0] }] }, by)
    await using session = await connect(made)
    await service.identity.deleteClient(client, [member])
    expect(await endOf(session)).toBeLessThan(10_000)
  })

  it('gets a change that the warehouse missed, and a login without a reader is removed', async () => {
    const made = await create({ schemas: [{ id: health }, { id: finance }] })
    await using superuser = await connected(superuserUrl())
    await superuser.query(`alter role ${made.connection.user} nologin`)
    await service.stack.db.updateTable('warehouse_readers').set({ pending: true }).where('uid', '=', made.id).execute()
    await until(async () => (await outcome(connect(made))) === 'done', { within: 10_000 })
    await service.stack.db.deleteFrom('warehouse_readers').where('uid', '=', made.id).execute()
    await until(
      async () =>
        (await superuser.query('select from pg_roles where rolname = $1', [made.connection.user])).rowCount === 0,
      { within: 10_000 },
    )
  })

  it('is not created if the warehouse does not respond, and its name stays free', async () => {
    const name = `Reader ${randomUUID()}`
    await using superuser = await connected(superuserUrl())
    const { rows } = await superuser.query<{ name: string }>(
      `select rolname as name from pg_roles where rolname = $1`,
      [new URL(service.environment['WAREHOUSE_DATABASE_URL']!).username],
    )
    await superuser.query(`alter role ${rows[0]!.name} nologin`)
    try {
      await owner.post('/warehouse-readers').send(body({ name })).expect(422)
    } finally {
      await superuser.query(`alter role ${rows[0]!.name} login`)
    }
    expect((await owner.get(`/warehouse-readers?filter=name:eq:${name}`).expect(200)).body).toEqual([])
    await create({ name })
  })
})
