import { afterAll, beforeAll, beforeEach, describe, expect } from '@jest/globals'
import { longRunOnly } from '@sluice/testing/long-run'
import { itUnless } from '@sluice/testing/skip'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { faultsOf } from './conformance-faults.ts'
import { openScene, type OpenScene } from './reading-scene.ts'
import { realAccount } from './real-account.ts'
import { type Row, rows } from './rows.ts'
import type { Scene } from './scene.ts'

/** All systems share the code that these rows test. In a short run, one system has them. */
const sharedRows: readonly Row[] = ['columnAdded', 'columnRetyped', 'badRecord', 'keepsBreaking', 'retryAfter', 'large']

/** What every source has to do. A row that does not apply is left out with the reason that the scene gives. */
export function conforms(scene: Scene): void {
  const scratch = scratchWarehouseForAll()
  let open: OpenScene
  beforeAll(async () => {
    open = await openScene(scene, scratch.warehouse)
  })
  beforeEach(() => {
    open.server.fault = () => undefined
    open.server.requests.length = 0
    open.people.clear()
    for (const id of [1, 2, 3]) open.people.put({ id, children: id === 1 ? ['Ann', 'Ben'] : [] })
  })
  afterAll(() => open?.[Symbol.asyncDispose]())

  const row = (name: Row, test: () => Promise<void>) => {
    const isLeftOut = sharedRows.includes(name) && !scene.hasAllRowsInEveryRun
    itUnless(scene.without[name] ?? (isLeftOut ? longRunOnly : undefined))(rows[name], test)
  }
  const { id, name } = scene.columns
  const rowsOf = async (table = open.table, order = id) =>
    (await scratch.superuser.query(`select * from health.${table} order by "${order}"`)).rows as Record<
      string,
      unknown
    >[]
  const names = async () => (await rowsOf()).map((one) => one[name])
  const typeOf = async (column: string) =>
    (await scratch.warehouse.catalog.findTable('health', open.table))?.columns.find((one) => one.name === column)
      ?.dataType

  describe(`${scene.system}, before anything is saved`, () => {
    row('tried', async () => {
      expect(await open.sources.test(open.reading(), open.never)).toBeUndefined()
    })

    row('refused', async () => {
      const secrets = Object.fromEntries(Object.entries(open.secrets).map(([key, value]) => [key, `${value}-wrong`]))
      const wrong = await open.sources.test(open.reading({ secrets }), open.never)
      expect(wrong).toMatchObject({ code: 'AUTHENTICATION_FAILED', message: expect.stringMatching(/check/i) })
      const settings = JSON.parse(JSON.stringify(open.settings).replaceAll(open.server.url, 'http://127.0.0.1:65529'))
      const away = await open.sources.test(open.reading({ settings }), open.never)
      expect(away).toMatchObject({ code: 'CONNECTION_REFUSED', message: expect.stringContaining('127.0.0.1:65529') })
      open.said.push(wrong!.message, away!.message)
    })

    row('lookups', async () => {
      for (const [kind, ids] of Object.entries(scene.lookups)) {
        const found = await open.sources.lookup(kind, open.reading(), open.never)
        expect([kind, found?.map((one) => one.id).toSorted()]).toEqual([kind, ids.toSorted()])
        for (const one of found!) expect([one.code, one.name]).not.toContain('')
      }
      expect(await open.sources.lookup('nothing-of-the-kind', open.reading(), open.never)).toBeUndefined()
    })

    row('preview', async () => {
      open.people.clear()
      open.people.crowd = 3_000
      const { columns, rows, complete } = await open.sources.preview(open.reading(), 2, open.never)
      expect([rows.length, complete]).toEqual([2, false])
      expect(columns.map((column) => column.name)).toContain(name)
      if (!scene.without.page) expect(open.pages()).toHaveLength(1)
    })
  })

  describe(`${scene.system}, loaded`, () => {
    row('whole', async () => {
      await open.load()
      expect(await names()).toEqual(['Person 1', 'Person 2', 'Person 3'])
      const table = await scratch.warehouse.catalog.findTable('health', open.table)
      expect(table?.columns.filter((column) => column.primaryKey).length).toBeGreaterThan(0)
    })

    row('groups', async () => {
      const { column } = scene.group!
      await open.load()
      const rows = await rowsOf(open.groupTable, '_index')
      const [first] = await rowsOf()
      expect(rows.map((one) => [one['_root_row_id'], one['_index'], one[column]])).toEqual([
        [first![id], 0, 'Ann'],
        [first![id], 1, 'Ben'],
      ])
      open.people.put({ id: 1, children: [] })
      await open.load()
      expect(await rowsOf(open.groupTable, '_index')).toEqual([])
    })

    row('increment', async () => {
      await open.load()
      open.people.put({ id: 5_000 })
      open.server.requests.length = 0
      await open.load('INCREMENTAL')
      expect(await names()).toEqual(['Person 1', 'Person 2', 'Person 3', 'Person 5000'])
      // Once more, when there is nothing new: the same rows, and the cursor stays where it is.
      const kept = await open.cursor()
      await open.load('INCREMENTAL')
      expect(await names()).toHaveLength(4)
      expect(await open.cursor()).toEqual(kept)
    })

    row('edit', async () => {
      await open.load()
      open.people.put({ id: 2, name: 'Somebody else' }, 6_000)
      await open.load('INCREMENTAL')
      expect(await names()).toEqual(['Person 1', 'Somebody else', 'Person 3'])
    })

    row('gone', async () => {
      await open.load()
      open.people.remove(3)
      open.people.put({ id: 2, name: 'Somebody else' })
      await open.load()
      expect(await names()).toEqual(['Person 1', 'Somebody else'])
    })

    row('columnAdded', async () => {
      const extra = scene.columns.extra!
      await open.load()
      open.people.put({ id: 4, extra: 'x' }, 7_000)
      await open.load(scene.without.increment ? 'FULL' : 'INCREMENTAL')
      expect((await rowsOf()).map((one) => one[extra])).toEqual([null, null, null, 'x'])
      open.people.remove(4)
      await open.load()
      expect((await rowsOf()).map((one) => one[extra])).toEqual([null, null, null])
    })

    row('columnRetyped', async () => {
      const extra = scene.columns.extra!
      for (const one of [1, 2, 3]) open.people.put({ id: one, extra: one })
      await open.load()
      const before = await typeOf(extra)
      open.people.put({ id: 3, extra: 'three' })
      await open.load()
      expect((await rowsOf()).map((one) => String(one[extra]))).toEqual(['1', '2', 'three'])
      expect([before, await typeOf(extra)]).toEqual([expect.any(String), 'TEXT'])
    })

    row('empty', async () => {
      open.people.clear()
      await open.load()
      expect(await rowsOf()).toEqual([])
      open.people.put({ id: 1 })
      await open.load()
      expect(await names()).toEqual(['Person 1'])
    })

    row('badRecord', async () => {
      open.people.put({ id: 4, bad: true })
      await open.load()
      expect(await names()).toEqual(['Person 1', 'Person 2', 'Person 3'])
      expect(open.rejected).toMatchObject([{ line: expect.any(Number), reason: expect.stringContaining('U+0000') }])
    })
  })

  faultsOf(scene, row, () => open, names)
  if (scene.account) realAccount(scene, scene.account, () => scratch.warehouse)
}
