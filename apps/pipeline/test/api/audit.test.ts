import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createContractChecker, pipelineOperations, type SearchRequest, type TabularResult } from '@sluice/contracts'
import { sql } from 'kysely'
import { auditLog } from '../../src/api/audit/operations.ts'
import { schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { loadedPlace } from './view-fixtures.ts'

const roles = [
  'ROLE_MANAGE_SCHEMA',
  'ROLE_MANAGE_DATA_PIPELINE',
  'ROLE_MANAGE_VARIABLE',
  'ROLE_MANAGE_SETTING',
] as const

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.stop())

/** A new organisation with somebody who changes objects, and somebody who reads the audit log. */
async function organisation() {
  const { identity } = service
  const client = await identity.client()
  const [owner, auditor] = await Promise.all([
    identity.person(client.id, [...roles]),
    identity.person(client.id, ['ROLE_SEE_AUDIT_LOG']),
  ])
  return { client, owner, auditor, asOwner: service.as(owner), asAuditor: service.as(auditor) }
}

const read = async (asking: Asking, query = ''): Promise<TabularResult> =>
  (await asking.get(`/audit${query}`).expect(200)).body
const toObjects = ({ headers, rows }: TabularResult) =>
  rows.map((row) => Object.fromEntries(headers.map(({ column }, index) => [column, row[index]])))

describe('the audit log', () => {
  it('has a row for each write, with the name of its author and the values before and after it', async () => {
    const { client, owner, asOwner, asAuditor } = await organisation()
    const { body: schema } = await asOwner.post('/schemas').send(schemaBody()).expect(201)
    const renamed = { ...schema, name: 'Renamed' }
    const { headers } = await asOwner.put(`/schemas/${schema.id}`).set('x-request-id', 'r-1').send(renamed).expect(200)
    await asOwner.put('/settings/THEME').send({ value: 'dark' }).expect(200)
    await asOwner.get('/schemas').expect(200)
    const result = await read(asAuditor)
    expect(createContractChecker(pipelineOperations.audit.list.response!)(result)).toEqual({ value: result })
    expect(result).toMatchObject({ table: 'audit', subtitle: client.name, metaData: { pager: { page: 1, total: 3 } } })
    const who = { username: owner.username, 'user.id': owner.id, 'client.id': client.id, 'client.code': client.code }
    expect(toObjects(result)).toMatchObject([
      { ...who, operation: 'settings.update', summary: 'Change a setting', 'object.name': 'THEME', outcome: 'done' },
      {
        ...who,
        operation: 'schemas.update',
        'object.id': schema.id,
        'object.name': 'Renamed',
        requestId: headers['x-request-id'],
        details: { before: { name: schema.name }, after: { name: 'Renamed' } },
      },
      { ...who, operation: 'schemas.create', 'object.name': schema.name },
    ])
  })

  it('has a row for each export, and names the object of a run', async () => {
    const { client, asOwner, asAuditor } = await organisation()
    const place = await loadedPlace(service, asOwner, client.id)
    const { body: pipeline } = await asOwner.get(`/data-pipelines/${place.pipeline}`).expect(200)
    await asOwner.get(`/data-pipelines/${place.pipeline}/data?format=csv`).expect(200)
    const upload = asOwner.post(`/data-pipelines/${place.pipeline}/file`).type('text/csv')
    await upload.send('id,region\n1,north\n').expect(200)
    await asOwner.post(`/data-pipelines/${place.pipeline}/run`).expect(202)
    const rows = toObjects(await read(asAuditor, `?filter=object.id:eq:${place.pipeline}`))
    expect(rows.map((row) => [row['operation'], row['object.name']])).toEqual([
      ['dataPipelines.run', pipeline.name],
      ['dataPipelines.upload', pipeline.name],
      ['dataPipelines.data', `${place.schemaName}.${place.table}`],
      ['dataPipelines.create', pipeline.name],
    ])
    expect(rows[2]).toMatchObject({ outcome: 'OK', details: { format: 'csv', rows: 3 } })
  })

  it('shows only the own organisation, also to a super admin', async () => {
    const [one, other] = [await organisation(), await organisation()]
    const { body: schema } = await one.asOwner.post('/schemas').send(schemaBody()).expect(201)
    const filter = `?filter=object.id:eq:${schema.id}`
    expect((await read(one.asAuditor, filter)).height).toBe(1)
    expect((await read(other.asAuditor, filter)).height).toBe(0)
    const superAdmin = service.as(await service.identity.person(other.client.id, ['ROLE_SUPER_ADMIN']))
    expect((await read(superAdmin, filter)).height).toBe(0)
    const { body } = await one.asOwner.get('/audit').expect(403)
    expect(body.detail).toBe('This needs ROLE_SEE_AUDIT_LOG.')
  })

  it('can be filtered, searched and ordered, and names the possible properties', async () => {
    const { owner, asOwner, asAuditor } = await organisation()
    const { body: schema } = await asOwner.post('/schemas').send(schemaBody()).expect(201)
    await asOwner.delete(`/schemas/${schema.id}`).expect(204)
    const operationsOf = async (query: string) => toObjects(await read(asAuditor, query)).map((row) => row['operation'])
    expect(await operationsOf(`?filter=username:eq:${owner.username}&order=at:asc`)).toEqual([
      'schemas.create',
      'schemas.delete',
    ])
    expect(await operationsOf('?query=schemas.delete')).toEqual(['schemas.delete'])
    expect(await operationsOf('?filter=at:lt:2020-01-01')).toEqual([])
    const { body } = await asAuditor.get('/audit?filter=details:like:a&order=client:asc').expect(400)
    expect(body.errors).toMatchObject([
      { pointer: '/filter/0', detail: expect.stringContaining('object.name') },
      { pointer: '/order/0' },
    ])
    await asAuditor.get('/audit?pageSize=1001').expect(400)
    await asAuditor.get('/audit?after=nonsense').expect(400)
  })

  it('returns every row once by cursor, also while rows are added', async () => {
    const { client, asAuditor } = await organisation()
    await sql`
      insert into audit (at, operation, client, object, request_id, address, details)
      select timestamptz '2026-01-01' + (n / 3) * interval '1 second', 'schemas.create', ${client.id}, n::text, 'r', '', '{}'
      from generate_series(1, 25) n`.execute(service.stack.db)
    const found: unknown[] = []
    let after = ''
    for (let pages = 0; pages < 10; pages += 1) {
      const result = await read(asAuditor, `?pageSize=10&total=false${after}`)
      found.push(...toObjects(result).map((row) => row['object.id']))
      const { nextCursor } = result.metaData['pager'] as { nextCursor?: string }
      if (nextCursor === undefined) break
      after = `&after=${nextCursor}`
      await sql`
        insert into audit (operation, client, object, request_id, address, details)
        values ('schemas.create', ${client.id}, 'later', 'r', '', '{}')`.execute(service.stack.db)
    }
    expect(found).toEqual(Array.from({ length: 25 }, (_, index) => String(25 - index)))
  })

  it('leaves out details of more than 20,000 characters, unless the page has one row', async () => {
    const { client, asAuditor } = await organisation()
    const details = JSON.stringify({ after: { name: 'Long', query: 'x'.repeat(30_000) } })
    await sql`
      insert into audit (operation, client, object, request_id, address, details)
      values ('views.create', ${client.id}, ${randomUUID()}, 'r', '', ${details})`.execute(service.stack.db)
    const [short] = toObjects(await read(asAuditor))
    expect(short).toMatchObject({ 'object.name': 'Long', details: { omitted: expect.stringContaining('pageSize=1') } })
    const [whole] = toObjects(await read(asAuditor, '?pageSize=1'))
    expect(JSON.stringify(whole!['details']).length).toBeGreaterThan(30_000)
  })

  it('shows no secret', async () => {
    const { asOwner, asAuditor } = await organisation()
    await asOwner
      .put('/variables')
      .send([{ name: 'KEY', secured: true, value: 'do-not-show-me' }])
      .expect(200)
    const result = await read(asAuditor)
    expect(toObjects(result)).toMatchObject([{ operation: 'variables.save', 'object.name': 'KEY' }])
    expect(JSON.stringify(result)).not.toContain('do-not-show-me')
  })

  it('shows the present name of a user for rows that were written without it', async () => {
    const { client, owner, asAuditor } = await organisation()
    await sql`
      insert into audit (operation, actor, client, request_id, address, details)
      values ('schemas.create', ${owner.id}, ${client.id}, 'r', '', '{}')`.execute(service.stack.db)
    expect(toObjects(await read(asAuditor))).toMatchObject([{ username: owner.username }])
  })
})

describe('a search of a long audit log', () => {
  it('reads about as many rows as it returns', async () => {
    const { client } = await organisation()
    const { db } = service.stack
    await sql`
      insert into audit (at, operation, client, object, request_id, address, details)
      select timestamptz '2025-01-01' + n * interval '1 minute', 'schemas.update', ${client.id}, n::text, 'r', '', '{}'
      from generate_series(1, 20000) n`.execute(db)
    await sql`analyze audit`.execute(db)
    const readRows = async (request: Partial<SearchRequest>) => {
      const plan = auditLog.parseQuery({ paging: {}, ...request })
      const page = auditLog.selectPage([sql`r.client = ${client.id}`], plan)
      const { rows: found } = await page.execute(db)
      const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: Plan }] }>`explain (analyze, format json) ${page}`.execute(db)
      return { read: countRows(rows[0]!['QUERY PLAN'][0].Plan), cursor: plan.cursorAfter(found[49]!.page_keys)! }
    }
    let { read: rowsRead, cursor } = await readRows({})
    expect(rowsRead).toBeLessThan(300)
    for (let pages = 0; pages < 20; pages += 1)
      ({ read: rowsRead, cursor } = await readRows({ paging: { after: cursor } }))
    expect(rowsRead).toBeLessThan(300)
  })
})

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** The number of rows that scans of the audit read. */
function countRows(plan: Plan): number {
  const own = plan['Relation Name']?.startsWith('audit')
    ? plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)
    : 0
  return (plan.Plans ?? []).reduce((sum, part) => sum + countRows(part), own)
}
