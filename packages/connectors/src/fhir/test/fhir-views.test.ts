import { describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { fhir } from './fhir-stand-in.ts'
import { openFixture } from '../../../test/connector-harness.ts'

const scratch = scratchWarehouseForAll()
const rowsOf = async (table: string) =>
  (await scratch.superuser.query(`select * from health.${table} order by 1, 2`)).rows as Record<string, unknown>[]

const views = [
  {
    name: 'organisations',
    resource: 'Organization',
    select: [
      {
        column: [
          { name: 'id', path: 'getResourceKey()', type: 'id' },
          { name: 'code', path: 'identifier.first().value', type: 'string' },
          { name: 'level', path: "extension('http://example.org/level').value.ofType(integer)", type: 'integer' },
          { name: 'language', path: 'language', type: 'code' },
          { name: 'changed', path: 'meta.lastUpdated', type: 'instant' },
          { name: 'systems', path: 'identifier.system', collection: true },
        ],
      },
    ],
  },
  {
    name: 'Contacts',
    resource: 'Organization',
    select: [
      { column: [{ name: 'organisation', path: 'getResourceKey()' }] },
      { forEach: 'contact', column: [{ name: 'called', path: 'name.text' }] },
    ],
  },
]

describe('FHIR with views', () => {
  it('loads a table for each view, with all of its columns and their types', async () => {
    await using open = await openFixture(fhir, scratch.warehouse)
    for (const id of [1, 2]) open.people.put({ id, children: id === 1 ? ['Ann', 'Ben'] : [] })
    await open.load('FULL', open.never, { settings: { views } })
    expect(await rowsOf(`${open.target}__organisations`)).toMatchObject([
      { id: '1', code: '0001', level: 1, language: null, systems: ['http://example.org/codes'] },
      { id: '2', code: '0002', level: 2, language: null },
    ])
    expect(await rowsOf(`${open.target}__contacts`)).toEqual([
      { organisation: '1', called: 'Ann' },
      { organisation: '1', called: 'Ben' },
    ])
    const table = await scratch.warehouse.catalog.findTable('health', `${open.target}__organisations`)
    expect(table?.columns.map(({ name, dataType }) => `${name} ${dataType}`)).toEqual([
      'id TEXT',
      'code TEXT',
      'level INTEGER',
      'language TEXT',
      'changed TIMESTAMPTZ',
      'systems JSONB',
    ])
  })

  it('reads everything in each run, and loads no row twice if a search restarts', async () => {
    await using open = await openFixture(fhir, scratch.warehouse)
    const settings = { views: views.slice(0, 1) }
    open.people.generated = 450
    let forgotten = 0
    open.server.fault = ({ query }) =>
      query.get('_getpagesoffset') === '200' && forgotten++ === 0 ? { status: 410, body: {} } : undefined
    await open.load('FULL', open.never, { settings })
    expect(await rowsOf(`${open.target}__organisations`)).toHaveLength(450)
    open.people.generated = 0
    open.people.put({ id: 7 })
    await open.load('INCREMENTAL', open.never, { settings })
    expect(await rowsOf(`${open.target}__organisations`)).toHaveLength(1)
    expect(open.messages.join()).toContain('does not report changes')
  })

  it('rejects a resource with several values for one column, and names the resource', async () => {
    await using open = await openFixture(fhir, scratch.warehouse)
    open.people.put({ id: 1 })
    open.people.put({ id: 2, children: ['Ann', 'Ben'] })
    const select = [
      {
        column: [
          { name: 'id', path: 'id' },
          { name: 'called', path: 'contact.name.text' },
        ],
      },
    ]
    await open.load('FULL', open.never, { settings: { views: [{ name: 'v', resource: 'Organization', select }] } })
    expect(await rowsOf(`${open.target}__v`)).toMatchObject([{ id: '1' }])
    expect(open.rejected).toMatchObject([
      { column: 'called', reason: expect.stringMatching(/Organization 2 has 2 values/) },
    ])
  })

  it('reports an invalid view in the connection test', async () => {
    await using open = await openFixture(fhir, scratch.warehouse)
    const wrong = { name: 'v', resource: 'Organization', select: [{ column: [{ name: 'a', path: 'name ~ 1' }] }] }
    const found = await open.sources.testConnection(open.reading({ settings: { views: [wrong] } }), open.never)
    expect(found).toMatchObject({ code: 'NOT_SUPPORTED', message: expect.stringContaining('name ~ 1') })
    const none = { ...wrong, select: [{}] }
    expect(await open.sources.testConnection(open.reading({ settings: { views: [none] } }), open.never)).toMatchObject({
      code: 'VIEW_WRONG',
      message: expect.stringContaining('view "v"'),
    })
  })
})
