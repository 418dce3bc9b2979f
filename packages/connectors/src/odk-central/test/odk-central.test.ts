import { describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { testConnector } from '../../../test/conformance.ts'
import { odkCentral, standIn } from './odk-central-stand-in.ts'
import { openFixture } from '../../../test/connector-harness.ts'

testConnector(odkCentral)

describe('ODK Central', () => {
  const scratch = scratchWarehouseForAll()
  const rowsOf = async (table: string) =>
    (await scratch.superuser.query(`select * from health.${table} order by 1`)).rows as Record<string, unknown>[]

  async function opened(own: object = {}) {
    const started = await standIn(own)
    const open = await openFixture({ ...odkCentral, start: async () => started }, scratch.warehouse)
    for (const id of [1, 2]) open.people.put({ id, children: id === 1 ? ['Ann', 'Ben'] : [] })
    return { open, deleted: started.deleted, ended: started.ended }
  }

  it('keeps zeros of codes, and loads points into four columns and nested groups into child tables', async () => {
    await using open = (await opened()).open
    await open.load()
    const [first] = await rowsOf(open.table)
    expect(first).toMatchObject({
      _id: 'uuid:00000001',
      demo_code: '007',
      place_latitude: '-1.29',
      place_longitude: '36.82',
      place_altitude: expect.anything(),
      place_accuracy: '4.5',
    })
    expect(Object.keys(first!).filter((column) => column.includes('navigation'))).toEqual([])
    expect(await rowsOf(`${open.groupTable}__toy`)).toMatchObject([
      { _parent_row_id: 'uuid:00000001/home.child[0]', _root_row_id: 'uuid:00000001', kind: 'ball' },
    ])
  })

  it('marks deleted submissions in an increment, and omits them in a full read', async () => {
    const { open, deleted } = await opened()
    await using _ = open
    await open.load()
    deleted.set(2, 6_000)
    await open.load('INCREMENTAL')
    const deletedColumn = await rowsOf(open.table)
    expect(deletedColumn.map((row) => row['_system_deleted_at'])).toEqual([null, new Date('2026-01-01T01:40:00Z')])
    await open.load()
    expect(await rowsOf(open.table)).toHaveLength(1)
  })

  it('keeps deleted submissions in a full read if includeDeleted is set', async () => {
    const { open, deleted } = await opened({ includeDeleted: true })
    await using _ = open
    deleted.set(2, 6_000)
    await open.load()
    expect(await rowsOf(open.table)).toHaveLength(2)
  })

  it('loads an increment from a version that does not report deleted submissions', async () => {
    await using open = (await opened()).open
    await open.load()
    open.people.put({ id: 3 }, 9_000)
    open.server.fault = ({ query }) =>
      query.get('$filter')?.includes('deletedAt') ? { status: 501, body: { message: 'Unknown field' } } : undefined
    await open.load('INCREMENTAL')
    expect(await rowsOf(open.table)).toHaveLength(3)
    expect(open.messages.join()).toContain('does not report deleted submissions')
  })

  it('reduces the page size if a page of submissions is too large', async () => {
    await using open = (await opened()).open
    open.people.clear()
    open.people.generated = 40
    const long = { status: 200, headers: { 'content-length': '40000000' }, body: 'x' }
    open.server.fault = (request) =>
      open.isPageRequest(request) && Number(request.query.get('$top')) > 20 ? long : undefined
    await open.load()
    expect(await rowsOf(open.table)).toHaveLength(40)
    expect(open.pages().map(({ query }) => query.get('$top'))).toEqual(['1000', '250', '63', '16', '16', '16'])
  })

  it('redacts the session token, with or without the Bearer prefix', async () => {
    await using open = (await opened()).open
    open.server.fault = (request) => {
      const { authorization = '' } = request.headers
      const message = `${authorization}, that is ${authorization.replace('Bearer ', '')}`
      return open.isPageRequest(request) ? { status: 400, body: { message } } : undefined
    }
    await expect(open.load()).rejects.toMatchObject({
      message: expect.stringContaining('[redacted], that is [redacted]'),
    })
    expect(open.messages.join()).not.toContain('session!1')
  })

  it('ends its session after success, failure or cancellation, and succeeds if that gets no response', async () => {
    const { open, ended } = await opened()
    await using _ = open
    await open.load()
    open.server.fault = (request) =>
      open.isPageRequest(request) ? { status: 400, body: { message: 'No.' } } : undefined
    await expect(open.load()).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
    const cancel = new AbortController()
    open.server.fault = (request) =>
      open.isPageRequest(request) ? (cancel.abort(new Error('cancelled')), 'SILENT') : undefined
    await expect(open.load('FULL', cancel.signal)).rejects.toThrow('cancelled')
    expect(ended).toHaveLength(3)
    expect(new Set(ended).size).toBe(3)
    open.server.fault = ({ method }) => (method === 'DELETE' ? 'SILENT' : undefined)
    await open.load()
    expect([ended.length, (await rowsOf(open.table)).length]).toEqual([3, 2])
  })

  it('requires a project to list forms', async () => {
    await using open = (await opened()).open
    const reading = open.reading({ settings: { project: undefined } })
    await expect(open.sources.listOptions('forms', reading, open.never)).rejects.toMatchObject({
      code: 'PROJECT_MISSING',
    })
    expect(await open.sources.listOptions('forms', { ...reading, within: '7' }, open.never)).toHaveLength(1)
  })
})
