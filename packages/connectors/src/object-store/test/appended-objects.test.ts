import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { WriteMode } from '@sluice/contracts'
import { drawCount } from '@sluice/testing/random-case-count'
import { describeUnless } from '@sluice/testing/skip-tests'
import type { DuplicateKeyProblem } from '@sluice/warehouses/duplicate-key'
import { loadRowStreams } from '@sluice/warehouses/load-row-streams'
import fc from 'fast-check'
import type { ReadRequest } from '../../connector.ts'
import { listener, type Loading, never, openLoading, word } from './load-from-store.ts'
import { kindsOfStores, type TestStore } from './object-stores-under-test.ts'

/** All stores share the code under test, so one of them is enough. */
const [kind] = kindsOfStores.toSorted((one, other) => Number(one.isSlow) - Number(other.isSlow))

describeUnless(kind!.missing)('objects that are appended or merged', () => {
  let store: TestStore
  let loading: Loading
  beforeAll(async () => {
    store = await kind!.start()
    loading = await openLoading()
  })
  afterAll(async () => {
    await loading?.[Symbol.asyncDispose]()
    await store?.[Symbol.asyncDispose]()
  })

  async function load(reading: ReadRequest, table: string, writeMode: WriteMode, mergeKey?: string[]) {
    const { heard, report } = listener()
    const cursor = (await loading.scratch.warehouse.loader.findLastLoad('health', table)).cursor
    const request: ReadRequest = { ...reading, writeMode, table, ...(cursor !== undefined && { cursor }) }
    let superseded = 0
    const tables = await loadRowStreams({
      rowStreams: loading.kinds[reading.type]!.read(request, report, never),
      warehouse: loading.scratch.warehouse,
      target: { schema: 'health', table },
      run: word('run'),
      attempt: 1,
      mode: writeMode,
      keepsPrevious: true,
      mergeKey,
      shape: { hasAllColumns: true },
      isCurrentAttempt: async () => true,
      signal: never,
      rejected: () => ({ count: 0 }),
      onSuperseded: (rows) => void (superseded += rows),
    })
    return { tables, superseded, logs: heard.logs }
  }

  async function rowsOf(table: string, names: readonly string[]) {
    const columns = (await loading.columns(table)).map((column) => column.split(' ')[0]!)
    const rows = await loading.rows(table)
    return rows.map((row) => names.map((name) => row[columns.indexOf(name)] ?? '').join(' ')).toSorted()
  }

  it('are each in the table once in their newest version, for random histories of APPEND', async () => {
    const change = fc.record({
      name: fc.constantFrom('a', 'b', 'c'),
      rows: fc.option(fc.array(fc.constantFrom('x', 'y'), { minLength: 1, maxLength: 3 })),
    })
    const histories = fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const folder = word('months_')
        const stored = new Map<string, string[]>()
        const model = new Map<string, string[]>()
        const put = async (name: string, rows: string[]) => {
          stored.set(name, rows)
          // A version of an object differs by its time or its content: the number makes each content unique.
          const text = ['n,value', ...rows.map((value) => `${Math.random()},${value}`), ''].join('\n')
          await store.put(`${folder}/${name}.csv`, text)
        }
        await put('first', ['x'])
        for (const changes of [[], ...history]) {
          for (const { name, rows } of changes)
            if (rows) await put(name, rows)
            else if (stored.delete(name)) await store.remove(`${folder}/${name}.csv`)
          await load(store.reading(`${folder}/`), folder, 'APPEND')
          for (const [name, rows] of stored) model.set(name, rows)
          const expected = [...model].flatMap(([name, rows]) => rows.map((value) => `${folder}/${name}.csv ${value}`))
          expect(await rowsOf(folder, ['_object_key', 'value'])).toEqual(expected.toSorted())
        }
      }),
      { numRuns: drawCount({ short: 2, long: 40 }), endOnFailure: true },
    )
  })

  it('are read only when they are new or changed, also with other settings or after they were all deleted', async () => {
    const folder = word('months_')
    await store.put(`${folder}/01.csv`, 'id,n\n1,a\n')
    await load(store.reading(`${folder}/`), folder, 'APPEND')
    await store.put(`${folder}/02.csv`, 'id,n\n2,b\n')
    const { logs } = await load(store.reading(`${folder}/`), folder, 'APPEND')
    expect(logs).toContain('1 object is new; 1 is unchanged.')
    const other = store.reading(`${folder}/*.csv`, { settings: { csvOptions: { nullValues: ['-'] } } })
    expect((await load(other, folder, 'APPEND')).tables).toEqual([])
    for (const name of ['01', '02']) await store.remove(`${folder}/${name}.csv`)
    expect((await load(other, folder, 'APPEND')).tables).toEqual([])
    expect(await rowsOf(folder, ['id', 'n'])).toEqual(['1 a', '2 b'])
  })

  it('add a single object again each time that it was written', async () => {
    const key = `${word('latest_')}.csv`
    const table = word('latest_')
    await store.put(key, 'id\n1\n')
    await load(store.reading(key), table, 'APPEND')
    expect((await load(store.reading(key), table, 'APPEND')).tables).toEqual([])
    await store.put(key, 'id\n22\n')
    await load(store.reading(key), table, 'APPEND')
    expect(await rowsOf(table, ['id'])).toEqual(['1', '22'])
  })

  it('are not added twice if the key of a single object becomes a pattern', async () => {
    const folder = word('latest_')
    const path = `${folder}/latest.csv`
    const textOf = (id: number) => `id,a,b,c\n${id},x,y,z\n`
    await store.put(path, textOf(1))
    await load(store.reading(path), folder, 'APPEND')
    const pattern = store.reading(`${folder}/*.csv`)
    expect((await load(pattern, folder, 'APPEND')).tables).toEqual([])
    await store.put(`${folder}/other.csv`, textOf(5))
    await load(pattern, folder, 'APPEND')
    await store.put(path, textOf(22))
    const unknown = {
      code: 'OBJECT_ROWS_UNKNOWN',
      message: expect.stringMatching(/latest\.csv" changed.*"rebuild": true/),
    }
    await expect(load(pattern, folder, 'APPEND')).rejects.toMatchObject(unknown)
    expect(await rowsOf(folder, ['id'])).toEqual(['1', '5'])
    await load(pattern, folder, 'REPLACE')
    await store.put(path, textOf(333))
    await load(pattern, folder, 'APPEND')
    expect(await rowsOf(folder, ['id'])).toEqual(['333', '5'])
    // As a single object again, it adds its rows, and a pattern cannot replace these.
    await store.put(path, textOf(4444))
    await load(store.reading(path), folder, 'APPEND')
    await store.put(path, textOf(55555))
    await expect(load(pattern, folder, 'APPEND')).rejects.toMatchObject(unknown)
    expect(await rowsOf(folder, ['id'])).toEqual(['333', '4444', '5'])
  })

  it('are merged by a key in one run as in a run for each object, for random objects', async () => {
    const row = fc.record({ id: fc.constantFrom('1', '2', '3', '4'), state: fc.constantFrom('open', 'closed', '') })
    const object = fc.record({
      columns: fc.constantFrom(['state'], ['note'], ['state', 'note']),
      rows: fc.uniqueArray(row, { selector: ({ id }) => id, minLength: 1, maxLength: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(object, { minLength: 2, maxLength: 4 }), async (objects) => {
        const folder = word('states_')
        const [stepwise, atOnce] = [`${folder}_stepwise`, `${folder}_at_once`]
        for (const [index, { columns, rows }] of objects.entries()) {
          const lines = rows.map(({ id, state }) =>
            [id, ...columns.map((name) => (name === 'state' ? state : `${id} of ${index}`))].join(','),
          )
          await store.put(`${folder}/0${index}.csv`, [['id', ...columns].join(','), ...lines, ''].join('\n'))
          await load(store.reading(`${folder}/`), stepwise, 'MERGE', ['id'])
        }
        await load(store.reading(`${folder}/`), atOnce, 'MERGE', ['id'])
        const names = ['id', 'state', 'note', '_object_key', '_object_row', '_object_last_modified']
        expect(await rowsOf(atOnce, names)).toEqual(await rowsOf(stepwise, names))
      }),
      { numRuns: drawCount({ short: 4, long: 60 }), endOnFailure: true },
    )
  })

  it('take the row of the object that changed last, whatever its name', async () => {
    const folder = word('states_')
    await store.put(`${folder}/b.csv`, 'id,state\n1,first\n2,first\n')
    // Stores count seconds.
    await sleep(1_100)
    await store.put(`${folder}/a.csv`, 'id,state\n2,last\n')
    const { superseded } = await load(store.reading(`${folder}/`), folder, 'MERGE', ['id'])
    expect(await rowsOf(folder, ['id', 'state'])).toEqual(['1 first', '2 last'])
    expect(superseded).toBe(1)
    expect((await load(store.reading(`${folder}/`), `${folder}_all`, 'REPLACE', ['id'])).superseded).toBe(1)
    expect(await rowsOf(`${folder}_all`, ['id', 'state'])).toEqual(['1 first', '2 last'])
  })

  it('are merged by a key across objects, and refused if an object has two rows with the same key', async () => {
    const folder = word('states_')
    await store.put(`${folder}/01.csv`, 'id,state\n1,open\n2,open\n')
    await load(store.reading(`${folder}/`), folder, 'MERGE', ['id'])
    await store.put(`${folder}/02.csv`, 'id,state\n2,closed\n3,open\n')
    await load(store.reading(`${folder}/`), folder, 'MERGE', ['id'])
    const merged = ['1 open', '2 closed', '3 open']
    expect(await rowsOf(folder, ['id', 'state'])).toEqual(merged)
    await store.put(`${folder}/03.csv`, 'id,state\n3,gone\n3,back\n')
    const pattern = store.reading(`${folder}/`)
    const error = await load(pattern, folder, 'MERGE', ['id']).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'DUPLICATE_KEY' })
    expect(await rowsOf(folder, ['id', 'state'])).toEqual(merged)
    const positions = async (reading: ReadRequest, id: string) => {
      const { key, precedence } = error as DuplicateKeyProblem
      const duplicate = { ...key!, values: [id], precedence }
      return loading.kinds[reading.type]!.describeKeyRows!(reading, duplicate, never)
    }
    expect(await positions(pattern, '3')).toBe(`lines 2 and 3 of ${folder}/03.csv`)
    expect(await positions(pattern, '2')).toBeUndefined()
    expect(await positions(store.reading(`${folder}/03.csv`), '3')).toBe(`lines 2 and 3 of ${folder}/03.csv`)
  })
})
