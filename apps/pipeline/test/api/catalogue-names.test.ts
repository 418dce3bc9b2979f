import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { fill, loadedPlace, viewBody, type LoadedPlace } from './view-fixtures.ts'

let service: Service
let client: string
let owner: Asking
let analyst: Asking
let place: LoadedPlace
beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VIEW'] as const
  owner = service.as(await service.identity.person(client, [...roles]))
  analyst = service.as(await service.identity.person(client, ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE']))
  place = await loadedPlace(service, owner, client, { schema: { schemaName: 'health' } })
  await loadedPlace(service, owner, client, { schema: { schemaName: 'help' } })
  for (const schemaName of ['health', 'help'])
    await fill(
      service,
      client,
      { schemaName, table: 'Heads of 2026' },
      { types: { id: 'INTEGER', height: 'DOUBLE', 'Head count': 'INTEGER' }, rows: [[1, 1.5, 2]] },
    )
})
afterAll(() => service?.stop())

interface Name {
  kind: string
  name: string
  schema?: string
  table?: string
}

const find = async (prefix: string, query = '', by = analyst) => {
  const { body } = await by.get(`/catalogue/names?prefix=${encodeURIComponent(prefix)}${query}`).expect(200)
  return body as { names: Name[]; more: boolean }
}
const spell = ({ names }: { names: Name[] }) =>
  names.map(({ kind, schema, table, name }) => `${kind} ${[schema, table, name].filter(Boolean).join('.')}`)

describe('the names of the catalogue', () => {
  it('are schemas, tables and columns that begin with a text, in any case', async () => {
    expect(spell(await find('He'))).toEqual([
      'SCHEMA health',
      'SCHEMA help',
      'TABLE health.Heads of 2026',
      'TABLE help.Heads of 2026',
      'COLUMN health.Heads of 2026.Head count',
      'COLUMN health.Heads of 2026.height',
    ])
    expect((await find('height')).names).toEqual([
      { kind: 'COLUMN', name: 'height', schema: 'health', table: 'Heads of 2026', dataType: 'DOUBLE', tables: 2 },
    ])
    expect(await find('nothing like it')).toEqual({ names: [], more: false })
  })

  it('are those of a schema or table, if the text begins with its name', async () => {
    expect(spell(await find('health.he'))).toEqual(['TABLE health.Heads of 2026'])
    expect(spell(await find('"heads of 2026".he'))).toEqual([
      'COLUMN health.Heads of 2026.Head count',
      'COLUMN health.Heads of 2026.height',
    ])
    expect(spell(await find('help."Heads of 2026".'))).toEqual([
      'COLUMN help.Heads of 2026.Head count',
      'COLUMN help.Heads of 2026.height',
      'COLUMN help.Heads of 2026.id',
    ])
    expect(spell(await find('help."Heads of 2026'))).toEqual(['TABLE help.Heads of 2026'])
    for (const odd of ['a.b.c.d', '...', "'; drop table x; --", '%', '_', '\\'])
      expect([odd, await find(odd)]).toEqual([odd, { names: [], more: false }])
  })

  it('are the schemas and tables without a text, and at most `limit` of each kind', async () => {
    const all = await find('')
    expect(all.names.every(({ kind }) => kind !== 'COLUMN')).toBe(true)
    expect(all.names.map(({ name }) => name)).toEqual(expect.arrayContaining(['health', 'help', place.table]))
    const one = await find('he', '&limit=1')
    expect([spell(one), one.more]).toEqual([
      ['SCHEMA health', 'TABLE health.Heads of 2026', 'COLUMN health.Heads of 2026.Head count'],
      true,
    ])
    for (const query of ['?limit=0', '?limit=1001', `?prefix=${'x'.repeat(256)}`])
      await analyst.get(`/catalogue/names${query}`).expect(400)
  })

  it('are only those that the caller may see', async () => {
    // No pipeline has loaded the tables of `Heads of 2026`.
    expect(spell(await find('He', '', owner))).toEqual(['SCHEMA health', 'SCHEMA help'])
    expect(spell(await find('re', '', owner))).toEqual([`COLUMN health.${place.table}.region`])
    const there = (await service.identity.client()).id
    const stranger = service.as(await service.identity.person(there, ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE']))
    for (const prefix of ['', 'he', 'health.', 'health."Heads of 2026".'])
      expect(await find(prefix, '', stranger)).toEqual({ names: [], more: false })
    const nobody = service.as(await service.identity.person(client, ['ROLE_MANAGE_VARIABLE']))
    await nobody.get('/catalogue/names').expect(403)
  })

  it('contain the columns of views', async () => {
    const query = `select id as reviewed from ${place.table}`
    await owner
      .post('/views')
      .send(viewBody(place.schema, query, { name: 'Reviews' }))
      .expect(201)
    expect(spell(await find('review', '', owner))).toEqual(['TABLE health.reviews', 'COLUMN health.reviews.reviewed'])
  })

  it('are found in less than a second among 100,000 columns', async () => {
    await using superuser = await service.stack.inside(client)
    await superuser.query(`set synchronous_commit = off; do $$ begin
      for t in 1..1000 loop
        execute format('create table health.%I (%s)', 'wide_' || t,
          (select string_agg(format('c%s_of_%s int', c, t), ', ') from generate_series(1, 100) c));
      end loop; end $$; analyze pg_attribute; analyze pg_class`)
    for (const [prefix, columns] of [
      ['c99_of_77', 11],
      ['c1', 50],
      ['wide_5.c', 50],
      ['health.wide_1000.c100', 1],
      ['zzz', 0],
    ] as const) {
      const times: number[] = []
      for (let round = 0; round < 5; round += 1) {
        const begun = performance.now()
        const { names } = await find(prefix)
        times.push(performance.now() - begun)
        expect([prefix, names.filter(({ kind }) => kind === 'COLUMN').length]).toEqual([prefix, columns])
      }
      expect(Math.min(...times)).toBeLessThan(1_000)
    }
  }, 120_000)
})
