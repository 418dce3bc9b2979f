import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Role } from '@sluice/contracts'
import { schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { fill, loadedPlace, viewBody, type LoadedPlace } from './view-fixtures.ts'

let service: Service
let client: string
let owner: Asking
const manage = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VIEW'] as const
const person = async (...roles: Role[]) => service.as(await service.identity.person(client, roles))
beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  owner = await person(...manage)
})
afterAll(() => service?.stop())

const place = (changes: Parameters<typeof loadedPlace>[3] = {}) => loadedPlace(service, owner, client, changes)
const pathOf = ({ schema, table }: LoadedPlace) => `/schemas/${schema}/tables/${table}`
const describeTable = (asking: Asking, at: LoadedPlace, body: object) =>
  asking.put(`${pathOf(at)}/descriptions`).send(body)
const columnsOf = (body: { columns: { name: string; description?: string }[] }) =>
  Object.fromEntries(body.columns.map(({ name, description }) => [name, description]))
const region = (description: string) => ({ columns: [{ name: 'region', description }] })

describe('the descriptions of a table and its columns', () => {
  it('are shown in the catalogue, at the pipeline and with the rows', async () => {
    const at = await place({ pipeline: { description: 'The pipeline.' } })
    expect((await owner.get(pathOf(at)).expect(200)).body.description).toBe('The pipeline.')
    const sent = { description: 'Cases by region.', ...region('Where.\nOne of two.') }
    const { body: answer } = await describeTable(owner, at, sent).expect(200)
    const { body: table } = await owner.get(pathOf(at)).expect(200)
    expect(answer).toEqual(table)
    expect(table.description).toBe('Cases by region.')
    expect(columnsOf(table)).toEqual({ id: undefined, region: 'Where.\nOne of two.' })
    const all = await person('ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
    const shown = [
      (await owner.get(`/schemas/${at.schema}/tables`).expect(200)).body[0],
      (await owner.get(`/data-pipelines/${at.pipeline}/table`).expect(200)).body,
      (await owner.get(`/data-pipelines/${at.pipeline}`).expect(200)).body.status.mainTableAsTable,
      (await owner.get(`/data-pipelines/${at.pipeline}/data`).expect(200)).body,
      (await all.get(`${pathOf(at)}/data`).expect(200)).body,
    ]
    for (const body of shown) expect([body.description, columnsOf(body)]).toEqual([table.description, columnsOf(table)])
    expect((await owner.get(`${pathOf(at)}/columns`).expect(200)).body).toEqual(table.columns)
  })

  it('stay when the table is loaded again, and when other descriptions are set', async () => {
    const at = await place()
    await describeTable(owner, at, { description: 'Cases.', ...region('Where.') }).expect(200)
    await fill(service, client, at, { types: { region: 'TEXT', extra: 'INTEGER' }, rows: [['north', 1]] })
    await describeTable(owner, at, { columns: [{ name: 'extra', description: 'New.' }] }).expect(200)
    const { body } = await owner.get(pathOf(at)).expect(200)
    expect(body.description).toBe('Cases.')
    expect(columnsOf(body)).toMatchObject({ region: 'Where.', extra: 'New.' })
    await describeTable(owner, at, { description: '', ...region('') }).expect(200)
    const { body: after } = await owner.get(pathOf(at)).expect(200)
    expect(after).not.toHaveProperty('description')
    expect(columnsOf(after)).toMatchObject({ region: undefined, extra: 'New.' })
  })

  it('follow a view that is renamed', async () => {
    const at = await place()
    const body = viewBody(at.schema, `select region from ${at.table}`, { dataWarehouseViewName: 'before_it' })
    const { body: view } = await owner.post('/views').send(body).expect(201)
    await describeTable(owner, { ...at, table: 'before_it' }, region('Where.')).expect(200)
    await owner
      .put(`/views/${view.id}`)
      .send({ ...body, dataWarehouseViewName: 'after_it' })
      .expect(200)
    expect(columnsOf((await owner.get(`/views/${view.id}/table`).expect(200)).body)).toEqual({ region: 'Where.' })
    await owner.delete(`/views/${view.id}`).expect(204)
    const again = { ...body, name: 'Again', dataWarehouseViewName: 'after_it' }
    const { body: other } = await owner.post('/views').send(again).expect(201)
    expect(columnsOf((await owner.get(`/views/${other.id}/table`).expect(200)).body)).toEqual({ region: undefined })
  })

  it('are deleted with the pipeline, but those of another pipeline with a longer name stay', async () => {
    const at = await place()
    const longer = { ...at, table: `${at.table}__2026` }
    const dataWarehouseTarget = { schema: { id: at.schema }, tableName: longer.table }
    const body = { name: 'Longer', type: 'CSV_UPLOAD', disabled: false, runTrigger: 'NEVER', dataWarehouseTarget }
    const { body: other } = await owner.post('/data-pipelines').send(body).expect(201)
    await fill(service, client, { ...at, table: longer.table }, { types: { region: 'TEXT' }, rows: [['north']] })
    await describeTable(owner, at, region('Where.')).expect(200)
    await describeTable(owner, longer, region('Where in 2026.')).expect(200)
    await owner.delete(`/data-pipelines/${at.pipeline}`).expect(204)
    await service.stack.db.deleteFrom('warehouse_drops').where('client', '=', client).execute()
    const { body: kept } = await owner.get(`/data-pipelines/${other.id}/table`).expect(200)
    expect(columnsOf(kept)).toEqual({ region: 'Where in 2026.' })
    const rows = await service.stack.db
      .selectFrom('table_descriptions')
      .select('table_name')
      .where('table_name', 'in', [at.table, longer.table])
      .execute()
    expect(rows).toEqual([{ table_name: longer.table }])
  })

  it('have a row in the audit log with the changed texts', async () => {
    const at = await place()
    await describeTable(owner, at, region('Where.')).expect(200)
    await describeTable(owner, at, { description: 'Cases.', ...region('In which region.') }).expect(200)
    const auditor = await person('ROLE_SEE_AUDIT_LOG')
    const path = `/audit?filter=object.id:eq:${at.pipeline}&filter=operation:eq:schemas.describeTable`
    const { body } = await auditor.get(path).expect(200)
    const details = body.headers.findIndex(({ column }: { column: string }) => column === 'details')
    expect(body.rows.map((row: unknown[]) => row[details])).toMatchObject([
      {
        before: { description: null, columns: { region: 'Where.' } },
        after: { description: 'Cases.', columns: { region: 'In which region.' } },
      },
      { before: { columns: { region: null } }, after: { columns: { region: 'Where.' } } },
    ])
  })
})

describe('the descriptions of a table', () => {
  it('can be changed by editors of its pipeline or view, and by editors of the schema', async () => {
    const open = { access: { publicAccess: 'READ' } }
    const editable = { access: { publicAccess: 'READ_WRITE' } }
    const statusOf = async (at: LoadedPlace, ...roles: Role[]) =>
      (await describeTable(await person(...roles), at, region('Where.'))).status
    const hidden = await place()
    const readable = await place({ schema: open, pipeline: open })
    const ofPipeline = await place({ pipeline: editable })
    const ofSchema = await place({ schema: editable, pipeline: open })
    const everything = [...manage] as Role[]
    expect(await statusOf(hidden, ...everything)).toBe(404)
    expect(await statusOf(readable, ...everything)).toBe(403)
    expect(await statusOf(readable, 'ROLE_SEE_DATA_PIPELINE', 'ROLE_MANAGE_VIEW')).toBe(403)
    expect(await statusOf(readable, 'ROLE_MANAGE_VIEW')).toBe(404)
    expect(await statusOf(ofPipeline, 'ROLE_MANAGE_DATA_PIPELINE')).toBe(200)
    expect(await statusOf(ofPipeline, 'ROLE_MANAGE_SCHEMA')).toBe(404)
    expect(await statusOf(ofSchema, 'ROLE_MANAGE_SCHEMA', 'ROLE_SEE_DATA_PIPELINE')).toBe(200)
    expect(await statusOf(ofSchema, 'ROLE_MANAGE_SCHEMA')).toBe(404)
    expect(await statusOf(ofSchema, 'ROLE_SEE_SCHEMA', 'ROLE_SEE_DATA_PIPELINE')).toBe(403)
    expect(await statusOf(hidden, 'ROLE_SUPER_ADMIN')).toBe(200)
    const elsewhere = await service.identity.client()
    const stranger = service.as(await service.identity.person(elsewhere.id, ['ROLE_SUPER_ADMIN']))
    await describeTable(stranger, hidden, region('Where.')).expect(404)
  })

  it('of a table that no pipeline owns need the permission to see all data', async () => {
    const { body: schema } = await owner.post('/schemas').send(schemaBody()).expect(201)
    const at = { schema: schema.id, schemaName: schema.schemaName, table: 'by_hand', pipeline: '' }
    await fill(service, client, at, { types: { region: 'TEXT' }, rows: [] })
    await describeTable(owner, at, region('Where.')).expect(404)
    const access = { publicAccess: 'READ_WRITE', userAccess: [], userGroupAccess: [] }
    await owner.put(`/schemas/${at.schema}/access`).send(access).expect(200)
    const all = await person('ROLE_MANAGE_SCHEMA', 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
    const { body } = await describeTable(all, at, region('Where.')).expect(200)
    expect(columnsOf(body)).toEqual({ region: 'Where.' })
  })

  it('are refused for unknown and repeated columns, and if they are too long', async () => {
    const at = await place()
    const refusal = async (body: object) => (await describeTable(owner, at, body).expect(422)).body.errors
    expect(await refusal({ columns: [{ name: 'nowhere', description: 'x' }] })).toEqual([
      { pointer: '/columns/0/name', detail: 'The table has no column "nowhere". Its columns: id, region.' },
    ])
    expect(await refusal({ columns: [...region('a').columns, ...region('b').columns] })).toEqual([
      { pointer: '/columns/1/name', detail: 'The column "region" is in the list twice. Remove one of them.' },
    ])
    const long = { columns: [{ name: 'region', description: 'x'.repeat(1_001) }] }
    expect(await refusal(long)).toMatchObject([{ pointer: '/columns/0/description' }])
    await describeTable(owner, at, { columns: [{ name: 'region' }] }).expect(400)
    const names = Array.from({ length: 110 }, (_, index) => `c${index}`)
    const types = Object.fromEntries(['id', 'region', ...names].map((name) => [name, 'TEXT']))
    await fill(service, client, at, { types, rows: [] })
    const columns = names.map((name) => ({ name, description: 'x'.repeat(1_000) }))
    await describeTable(owner, at, { columns: columns.slice(0, 99) }).expect(200)
    const { body } = await describeTable(owner, at, { columns: columns.slice(99, 102) }).expect(422)
    expect(body.errors[0].detail).toContain('at most 100000 are allowed')
    const { body: table } = await owner.get(pathOf(at)).expect(200)
    expect(columnsOf(table)['c99']).toBeUndefined()
    for (const name of ['nowhere', '\0', "'; --"])
      await owner
        .put(`/schemas/${at.schema}/tables/${encodeURIComponent(name)}/descriptions`)
        .send({})
        .expect(404)
  })

  it('are all kept when two requests describe different columns at the same time', async () => {
    const at = await place()
    const requests = [
      { columns: [{ name: 'id', description: 'Number.' }] },
      { columns: [{ name: 'region', description: 'Where.' }] },
      { description: 'Cases.' },
    ]
    await Promise.all(requests.map((body) => describeTable(owner, at, body).expect(200)))
    const { body } = await owner.get(pathOf(at)).expect(200)
    expect([body.description, columnsOf(body)]).toEqual(['Cases.', { id: 'Number.', region: 'Where.' }])
  })
})
