import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { ReportHeader, TabularResult } from '@sluice/contracts'
import { runMaintenanceOnce } from '../src/maintenance/maintenance.ts'
import { startService, userBody, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

type Person = Awaited<ReturnType<Service['as']>>
const report = async (by: Pick<Person, 'get'>, path: string): Promise<TabularResult> =>
  (await by.get(`/reports/${path}`).expect(200)).body

/** The rows as objects, with the columns of the headers as keys. */
const objects = ({ headers, rows }: TabularResult) =>
  rows.map((row) => Object.fromEntries(headers.map(({ column }, index) => [column, row[index]])))

const isOfType: Partial<Record<ReportHeader['valueType'], (cell: unknown) => boolean>> = {
  BIGINT: Number.isSafeInteger,
  SMALLINT: Number.isSafeInteger,
  BOOLEAN: (cell) => typeof cell === 'boolean',
  VARCHAR_50: (cell) => typeof cell === 'string' && cell.length <= 50,
  VARCHAR_255: (cell) => typeof cell === 'string' && cell.length <= 255,
  TEXT: (cell) => typeof cell === 'string',
  TIMESTAMPTZ: (cell) => typeof cell === 'string' && new Date(cell).toISOString() === cell,
  JSONB: (cell) => typeof cell === 'object',
}

/** Checks the rules for every tabular result. */
function checkShape({ rows, visibleRows, headers, visibleHeaders, metaColumnIndexes, ...sizes }: TabularResult): void {
  expect(sizes).toMatchObject({ height: rows.length, width: headers.length, visibleWidth: visibleHeaders.length })
  const visible = headers.flatMap(({ hidden }, index) => (hidden ? [] : [index]))
  expect(visibleHeaders).toEqual(visible.map((index) => headers[index]))
  expect(visibleRows).toEqual(rows.map((row) => visible.map((index) => row[index])))
  expect(metaColumnIndexes).toEqual(headers.flatMap(({ meta }, index) => (meta ? [index] : [])))
  expect(visible.length).toBeLessThan(headers.length)
  for (const row of rows) {
    expect(row).toHaveLength(headers.length)
    for (const [index, { column, valueType }] of headers.entries())
      expect([column, row[index], row[index] === null || isOfType[valueType]!(row[index])]).toEqual([
        column,
        row[index],
        true,
      ])
  }
}

describe('the user access report', () => {
  it('shows what each user can access, in the terms of the user list', async () => {
    const client = await service.client({ routesEnabled: false })
    const manager = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_ROUTE', 'ROLE_SEE_SCHEMA'], client)
    const other = await service.user({ client, roles: ['ROLE_SEE_DATA_PIPELINE'], ssoAuth: true, status: 'INACTIVE' })
    const found = await report(manager, 'user-access?order=username:asc')
    checkShape(found)
    expect(found).toMatchObject({ table: 'user-access', height: 2, metaData: { pager: { page: 1, total: 2 } } })
    const byName = new Map(objects(found).map((row) => [row['username'], row]))
    expect(byName.get(manager.username)).toMatchObject({
      id: manager.uid,
      auths: 'ROLE_MANAGE_USER, ROLE_SEE_ROUTE, ROLE_SEE_SCHEMA',
      dormantAuths: 'ROLE_SEE_ROUTE',
      hasUserAccess: true,
      hasRouteAccess: false,
      twoFactorAuth: false,
      apiTokens: 0,
      lastSignIn: expect.stringMatching(/Z$/),
    })
    expect(byName.get(other.username)).toMatchObject({
      hasDataPipelineAccess: true,
      ssoAuth: true,
      status: 'INACTIVE',
      lastSignIn: null,
    })
  })

  it('accepts the filters, order and paging of the user list, and shows only the caller’s organisation', async () => {
    const manager = await service.as(['ROLE_MANAGE_USER'])
    for (const _ of [1, 2]) await service.user({ client: manager.client })
    const { rows, metaData, height } = await report(manager, 'user-access?pageSize=2&page=2&order=lastSignIn:asc')
    expect([height, rows.length]).toEqual([1, 1])
    expect(metaData['pager']).toEqual({ page: 2, pageSize: 2, total: 3, pageCount: 2 })
    const recent = await report(manager, 'user-access?filter=lastSignIn:ge:2000-01-01')
    expect(objects(recent).map(({ id }) => id)).toEqual([manager.uid])
    const refused = await manager.get('/reports/user-access?filter=password_hash:like:a').expect(400)
    expect(refused.body.errors).toMatchObject([{ pointer: '/filter/0' }])
    const all = await report(await service.as(['ROLE_SUPER_ADMIN']), 'user-access')
    expect(all.subtitle).toBe('All clients')
    expect(new Set(objects(all).map((row) => row['client.id'])).size).toBeGreaterThan(1)
  })

  it('shows the last sign-in after its session row was deleted', async () => {
    const manager = await service.as(['ROLE_MANAGE_USER'])
    const { uid, username } = await service.user({ client: manager.client })
    await service.signIn(username)
    await sql`update sessions set created_at = '2020-01-02T03:04:05Z', expires_at = '2020-02-01' where user_id = (
      select id from users where uid = ${uid})`.execute(service.db)
    await runMaintenanceOnce(service.db)
    const found = await report(manager, `user-access?filter=id:eq:${uid}`)
    expect(objects(found)[0]!['lastSignIn']).toBe('2020-01-02T03:04:05.000Z')
  })
})

describe('the audit report', () => {
  it('shows actor, operation, time and address of each entry, newest first', async () => {
    const auditor = await service.as(['ROLE_SEE_AUDIT_LOG', 'ROLE_MANAGE_USER'])
    const created = await auditor.post('/users').set('x-forwarded-for', '203.0.113.7').send(userBody()).expect(201)
    const found = await report(auditor, 'audit')
    checkShape(found)
    expect(objects(found)[0]).toMatchObject({
      username: auditor.username,
      'user.id': auditor.uid,
      operation: 'users.create',
      summary: 'Create a user',
      'object.id': created.body.id,
      'object.name': created.body.username,
      outcome: 'done',
      address: '203.0.113.7',
      requestId: created.headers['x-request-id'],
      details: { after: { username: created.body.username } },
    })
    const since = `filter=at:ge:${new Date(Date.now() - 60_000).toISOString()}`
    const mine = await report(auditor, `audit?${since}&filter=object.id:eq:${created.body.id}&query=create`)
    expect(mine.metaData['pager']).toMatchObject({ total: 1 })
    await auditor.get('/reports/audit?order=details:asc').expect(400)
    // Row numbers are hidden, because they reveal how many entries other organisations have.
    expect(mine.headers.map(({ column }) => column)).not.toContain('id')
    await auditor.get('/reports/audit?filter=id:gt:1').expect(400)
  })

  it('keeps the names of deleted and renamed users', async () => {
    const auditor = await service.as(['ROLE_SEE_AUDIT_LOG', 'ROLE_MANAGE_USER'])
    const leaver = await service.as(['ROLE_MANAGE_USER'], auditor.client)
    const victim = await service.user({ client: auditor.client })
    await leaver.delete(`/users/${victim.uid}`).expect(204)
    await auditor.delete(`/users/${leaver.uid}`).expect(204)
    const found = objects(await report(auditor, 'audit?filter=operation:eq:users.delete'))
    expect(found.map((row) => [row['username'], row['object.name']])).toEqual([
      [auditor.username, leaver.username],
      [leaver.username, victim.username],
    ])
  })

  it('shows an organisation the entries of its users and objects only, and super admins all entries', async () => {
    const auditor = await service.as(['ROLE_SEE_AUDIT_LOG'])
    const stranger = await service.as(['ROLE_SEE_AUDIT_LOG'])
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const created = await admin
      .post('/users')
      .send(userBody({ client: { id: auditor.client } }))
      .expect(201)
    await admin.delete(`/users/${created.body.id}/sessions`).expect(204)
    await admin.put('/session/client').send({ clientId: auditor.client }).expect(200)
    await admin.post('/auth/logout').expect(204)
    const operations = async (by: Person) => objects(await report(by, 'audit')).map((row) => row['operation'])
    expect(await operations(auditor)).toEqual([
      'auth.logout',
      'session.switchClient',
      'users.endSessions',
      'users.create',
      'auth.login',
    ])
    expect(await operations(stranger)).toEqual(['auth.login'])
    const other = await service.as(['ROLE_SUPER_ADMIN'])
    const all = await report(other, `audit?filter=object.id:eq:${created.body.id}`)
    expect(all).toMatchObject({ height: 2, subtitle: 'All clients' })
  })

  it('shows the reason of refused sign-ins, and those with an unknown username only to super admins', async () => {
    const auditor = await service.as(['ROLE_SEE_AUDIT_LOG'])
    const login = (username: string) =>
      service.http.post('/api/v1/auth/login').send({ username, password: 'wrong-one' })
    await login(auditor.username).expect(401)
    await login('nobody-of-this-name').expect(401)
    const refused = 'audit?filter=operation:eq:auth.login&filter=outcome:!like:signed'
    expect(objects(await report(auditor, refused))).toMatchObject([
      { username: auditor.username, outcome: 'wrong password' },
    ])
    const all = objects(await report(await service.as(['ROLE_SUPER_ADMIN']), `${refused}&pageSize=1`))
    expect(all).toMatchObject([{ username: null, outcome: 'unknown username' }])
  })

  it('continues after a cursor', async () => {
    const auditor = await service.as(['ROLE_SEE_AUDIT_LOG', 'ROLE_MANAGE_USER'])
    for (const _ of [1, 2, 3]) await auditor.post('/users').send(userBody()).expect(201)
    const query = 'audit?filter=operation:eq:users.create&total=false&pageSize=2'
    const first = await report(auditor, query)
    const { nextCursor } = first.metaData['pager'] as { nextCursor: string }
    const second = await report(auditor, `${query}&after=${nextCursor}`)
    expect(second.metaData['pager']).toEqual({ page: 2, pageSize: 2 })
    const all = await report(auditor, 'audit?filter=operation:eq:users.create')
    expect([...first.rows, ...second.rows]).toEqual(all.rows)
    expect(all.rows.length).toBe(3)
  })

  it('reads an audit table that rejects TRUNCATE', async () => {
    await expect(sql`truncate audit`.execute(service.db)).rejects.toThrow('never changed')
  })
})
