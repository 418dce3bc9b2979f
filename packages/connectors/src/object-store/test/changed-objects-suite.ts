import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import type { itUnless } from '@sluice/testing/skip-tests'
import fc from 'fast-check'
import type { ReadRequest } from '../../connector.ts'
import type { LoadedObjects } from '../read-objects.ts'
import { type Loading, listener, never } from './load-from-store.ts'
import type { TestStore } from './object-stores-under-test.ts'

/** What every store does where its objects change between two loads. `given` answers what runs for all of its tests. */
export function changesSuite(
  given: () => { store: TestStore; loading: Loading },
  itOfAnyStore: ReturnType<typeof itUnless>,
): void {
  it('reads only new objects, and everything if another object changed and one is gone', async () => {
    const { store, loading } = given()
    const reading = store.reading('daily/')
    await store.put('daily/01.csv', 'id,name\n1,Oslo\n2,Bergen\n')
    await loading.load(reading, 'daily')
    await store.put('daily/02.csv', 'id,age\n3,7\n')
    await store.put('daily/03.csv', 'name,id\nVardø,4.5\n')
    const { heard } = await loading.load(reading, 'daily', 'INCREMENTAL')
    expect(heard.logs).toContain('2 objects are new; 1 is unchanged.')
    expect(heard.logs.join()).not.toContain('daily/01.csv')
    const merged = [
      ['1.0', 'Oslo', null],
      ['2.0', 'Bergen', null],
      ['3.0', null, '7'],
      ['4.5', 'Vardø', null],
    ]
    const names = async () => (await loading.columns('daily')).map((column) => column.split(' ')[0]!)
    const own = async () => {
      const places = ['id', 'name', 'age'].map((wanted) => wanted)
      const all = await names()
      return (await loading.rows('daily')).map((row) => places.map((wanted) => row[all.indexOf(wanted)] ?? null))
    }
    expect(await own()).toEqual(merged)

    const again = await loading.load(reading, 'daily', 'INCREMENTAL')
    expect(again.tables).toEqual([])
    expect(await own()).toEqual(merged)

    await store.put('daily/04.csv', 'id,name\n5,Alta\n')
    await loading.load(reading, 'daily', 'INCREMENTAL')
    expect(await own()).toEqual([...merged, ['5.0', 'Alta', null]])

    await store.put('daily/01.csv', 'id,name\n1,Hamar\n')
    await store.remove('daily/02.csv')
    const anew = await loading.load(reading, 'daily', 'INCREMENTAL')
    expect(anew.heard.logs.join()).toContain('1 object changed, 1 is gone and 0 are new')
    expect(await own()).toEqual([
      ['1.0', 'Hamar', null],
      ['4.5', 'Vardø', null],
      ['5.0', 'Alta', null],
    ])
  })

  it('reads an object again if it was rewritten with the same content, because its time is a column', async () => {
    const { store, loading } = given()
    const reading = store.reading('rewritten/')
    for (const name of ['a', 'b']) await store.put(`rewritten/${name}.csv`, 'id\n1\n')
    await loading.load(reading, 'rewritten')
    // Stores report the time of a write in whole seconds.
    await pause(1100)
    await store.put('rewritten/a.csv', 'id\n1\n')
    const { heard } = await loading.load(reading, 'rewritten', 'INCREMENTAL')
    expect(heard.logs).toContain('0 objects are new, 1 changed; 1 is unchanged.')
    const increments = await loading.rows('rewritten')
    await loading.load(reading, 'rewritten')
    expect(increments.toSorted()).toEqual((await loading.rows('rewritten')).toSorted())
  })

  it('reads nothing after an upgrade from version 0.1, whose cursors contain only ETags', async () => {
    const { store, loading } = given()
    const reading = store.reading('updated/')
    for (const name of ['a', 'b']) await store.put(`updated/${name}.csv`, 'id\n1\n')
    await loading.load(reading, 'updated')
    const now = (await loading.scratch.warehouse.loader.findLastLoad('health', 'updated')).cursor as LoadedObjects
    const marks = Object.entries(now.objects).map(([key, mark]) => [key, mark.replace(/ \d+$/, '')])
    const cursor = { ...now, objects: Object.fromEntries(marks) }
    const increment: ReadRequest = { ...reading, mode: 'INCREMENTAL', table: 'updated', cursor }
    const connector = loading.kinds[increment.type]!
    expect(await connector.canReadIncrement!(increment)).toBe(true)
    expect(await Array.fromAsync(connector.read(increment, listener().report, never))).toEqual([])
  })

  it('loads the same rows in increments as in full, for random histories', async () => {
    const { store, loading } = given()
    const cells = fc.constantFrom('x', 'y', '')
    const content = fc.record({
      columns: fc.constantFrom(['name'], ['name', 'note'], ['note']),
      rows: fc.array(fc.tuple(cells, cells), { minLength: 1, maxLength: 3 }),
    })
    const change = fc.record({ key: fc.constantFrom('a', 'b', 'c'), content: fc.option(content) })
    let round = 0
    const law = async (history: readonly (typeof change extends fc.Arbitrary<infer One> ? One : never)[][]) => {
      round += 1
      const [folder, increments, whole] = [`law${round}/`, `increments_${round}`, `whole_${round}`]
      const reading = store.reading(folder)
      const known = new Set<string>()
      const put = async (key: string, csv: string) => {
        known.add(key)
        await store.put(`${folder}${key}.csv`, csv)
      }
      await put('first', 'id,name,note\ni,n,o\n')
      await loading.load(reading, increments, 'INCREMENTAL')
      for (const changes of history) {
        for (const { key, content: some } of changes) {
          if (some) {
            const rows = some.rows.map((row, index) => [`i${index}`, ...row.slice(0, some.columns.length)].join(','))
            await put(key, [['id', ...some.columns].join(','), ...rows, ''].join('\n'))
          } else if (known.delete(key)) await store.remove(`${folder}${key}.csv`)
        }
        await loading.load(reading, increments, 'INCREMENTAL')
      }
      await loading.load(reading, whole)
      const rowsOf = async (table: string) => {
        const names = (await loading.columns(table)).map((column) => column.split(' ')[0]!)
        const rows = (await loading.rows(table)).map((row) =>
          Object.fromEntries(
            names
              .map((name, at) => [name, row[at] ?? null] as const)
              .filter(([, cell]) => cell !== null)
              .toSorted(),
          ),
        )
        return rows.map((row) => JSON.stringify(row)).toSorted()
      }
      expect(await rowsOf(increments)).toEqual(await rowsOf(whole))
    }
    const histories = fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
    await fc.assert(fc.asyncProperty(histories, law), {
      numRuns: drawCount({ short: 3, long: 60 }),
      endOnFailure: true,
    })
  })

  itOfAnyStore('infers the type of a column from the objects that have values in it', async () => {
    const { store, loading } = given()
    const reading = store.reading('sparse/')
    await store.put('sparse/a.csv', 'id,v,d\n1,,\n')
    await store.put('sparse/b.csv', 'id,v,d\n2,7,\n')
    await loading.load(reading, 'sparse')
    expect((await loading.columns('sparse')).slice(0, 3)).toEqual(['id SMALLINT', 'v SMALLINT', 'd TEXT'])
    await store.put('sparse/c.csv', 'id,v,d\n3,,2026-01-31\n')
    await loading.load(reading, 'sparse')
    expect((await loading.columns('sparse')).slice(0, 3)).toEqual(['id SMALLINT', 'v SMALLINT', 'd DATE'])
  })

  itOfAnyStore('widens a type if samples of one of several objects suggest a wrong type', async () => {
    const { store, loading } = given()
    const reading = store.reading('late/')
    await store.put('late/a.csv', 'id,v\n1,1\n')
    const rows = 600_000
    // Between two samples of 64 KB: the guess from samples is wrong whenever the object is read.
    const odd = 186_800
    const lines = Array.from({ length: rows }, (_, at) => `${1_000_000 + at},${at === odd ? '3.5' : '1'},padded\n`)
    await store.put('late/b.csv', `id,v,more\n${lines.join('')}`)
    await loading.load(reading, 'late')
    expect((await loading.columns('late')).slice(0, 2)).toEqual(['id INTEGER', 'v DECIMAL'])
  })

  it('reads only changed and new objects, and everything if an object has fewer rows than before', async () => {
    const { store, loading } = given()
    const reading = store.reading('grown/')
    for (const name of ['a', 'b', 'c']) await store.put(`grown/${name}.csv`, `id,name\n1,${name}1\n2,${name}2\n`)
    await loading.load(reading, 'grown')
    const own = async () => {
      const names = (await loading.columns('grown')).map((column) => column.split(' ')[0])
      const [at, key] = [names.indexOf('name'), names.indexOf('_object_key')]
      return (await loading.rows('grown')).map((row) => [row[key]!.slice(6, 7), row[at]]).toSorted()
    }
    const [before] = [await own()]
    await store.put('grown/b.csv', 'id,name\n1,b1\n2,other\n3,b3\n')
    await store.put('grown/d.csv', 'id,name\n1,d1\n')
    const { heard } = await loading.load(reading, 'grown', 'INCREMENTAL')
    expect(heard.logs).toContain('1 object is new, 1 changed; 2 are unchanged.')
    expect(heard.totals).toMatchObject({ rowsRead: 4 })
    const grown = [...before.filter(([key]) => key !== 'b'), ['b', 'b1'], ['b', 'other'], ['b', 'b3'], ['d', 'd1']]
    expect(await own()).toEqual(grown.toSorted())

    await store.put('grown/b.csv', 'id,name\n1,b1\n')
    const shrunk = await loading.load(reading, 'grown', 'INCREMENTAL')
    expect(shrunk.heard.logs.join()).toContain('"grown/b.csv" has fewer rows than before')
    expect(shrunk.heard.totals).toMatchObject({ rowsRead: 6 })
    expect(await own()).toEqual([...before.filter(([key]) => key !== 'b'), ['b', 'b1'], ['d', 'd1']].toSorted())
    // And from there it goes on as before.
    await store.put('grown/b.csv', 'id,name\n1,again\n')
    expect((await loading.load(reading, 'grown', 'INCREMENTAL')).heard.totals).toMatchObject({ rowsRead: 1 })
    expect(await own()).toContainEqual(['b', 'again'])
    expect(await own()).toHaveLength(6)
  })

  it('reads a single object again only if it or its options changed', async () => {
    const { store, loading } = given()
    const reading = store.reading('one.csv')
    await store.put('one.csv', 'id\n1\n')
    await loading.load(reading, 'one')
    const { tables } = await loading.load(reading, 'one', 'INCREMENTAL')
    expect([tables, await loading.rows('one')]).toEqual([[], [['1']]])
    await store.put('one.csv', 'id\n2\n')
    await loading.load(reading, 'one', 'INCREMENTAL')
    expect(await loading.rows('one')).toEqual([['2']])
    // Read in another way, it is other data.
    const other = store.reading('one.csv', { settings: { csvOptions: { headerRow: false } } })
    await loading.load(other, 'one', 'INCREMENTAL')
    expect(await loading.rows('one')).toHaveLength(2)
  })
}
