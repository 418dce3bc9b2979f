import { afterAll, beforeAll, beforeEach, describe, expect } from '@jest/globals'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { testFaults } from './test-source-faults.ts'
import { openFixture, type FixtureHarness } from './connector-harness.ts'
import { realAccount } from './test-with-real-account.ts'
import { type Rule, rules } from './conformance-rules.ts'
import type { ConnectorFixture } from './connector-fixture.ts'

/** All connectors share the code that these rules test. In a short run, one connector tests them. */
const sharedRules: readonly Rule[] = [
  'columnAdded',
  'columnRetyped',
  'badRecord',
  'keepsBreaking',
  'retryAfter',
  'large',
]

/** Tests the rules of every connector. A rule that does not apply is skipped with the reason of the fixture. */
export function testConnector(fixture: ConnectorFixture): void {
  const scratch = scratchWarehouseForAll()
  let open: FixtureHarness
  beforeAll(async () => {
    open = await openFixture(fixture, scratch.warehouse)
  })
  beforeEach(() => {
    open.server.fault = () => undefined
    open.server.requests.length = 0
    open.people.clear()
    for (const id of [1, 2, 3]) open.people.put({ id, children: id === 1 ? ['Ann', 'Ben'] : [] })
  })
  afterAll(() => open?.[Symbol.asyncDispose]())

  const row = (name: Rule, test: () => Promise<void>) => {
    const isLeftOut = sharedRules.includes(name) && !fixture.runsEveryRuleAlways
    itUnless(fixture.unsupportedRules[name] ?? (isLeftOut ? longRunOnly : undefined))(rules[name], test)
  }
  const { id, name } = fixture.columns
  const rowsOf = async (table = open.table, order = id) =>
    (await scratch.superuser.query(`select * from health.${table} order by "${order}"`)).rows as Record<
      string,
      unknown
    >[]
  const names = async () => (await rowsOf()).map((item) => item[name])
  const typeOf = async (column: string) =>
    (await scratch.warehouse.catalog.findTable('health', open.table))?.columns.find((item) => item.name === column)
      ?.dataType

  describe(`${fixture.system}, connection test and preview`, () => {
    row('tried', async () => {
      expect(await open.sources.testConnection(open.reading(), open.never)).toBeUndefined()
    })

    row('refused', async () => {
      const secrets = Object.fromEntries(Object.entries(open.secrets).map(([key, value]) => [key, `${value}-wrong`]))
      const wrong = await open.sources.testConnection(open.reading({ secrets }), open.never)
      expect(wrong).toMatchObject({ code: 'AUTHENTICATION_FAILED', message: expect.stringMatching(/check/i) })
      const settings = JSON.parse(JSON.stringify(open.settings).replaceAll(open.server.url, 'http://127.0.0.1:65529'))
      const away = await open.sources.testConnection(open.reading({ settings }), open.never)
      expect(away).toMatchObject({ code: 'CONNECTION_REFUSED', message: expect.stringContaining('127.0.0.1:65529') })
      open.messages.push(wrong!.message, away!.message)
    })

    row('lookups', async () => {
      for (const [kind, ids] of Object.entries(fixture.lookups)) {
        const found = await open.sources.listOptions(kind, open.reading(), open.never)
        expect([kind, found?.map((item) => item.id).toSorted()]).toEqual([kind, ids.toSorted()])
        for (const item of found!) expect([item.code, item.name]).not.toContain('')
      }
      expect(await open.sources.listOptions('nothing-of-the-kind', open.reading(), open.never)).toBeUndefined()
    })

    row('preview', async () => {
      open.people.clear()
      open.people.generated = 3_000
      const { columns, rows, complete } = await open.sources.preview(open.reading(), 2, open.never)
      expect([rows.length, complete]).toEqual([2, false])
      expect(columns.map((column) => column.name)).toContain(name)
      if (!fixture.unsupportedRules.page) expect(open.pages()).toHaveLength(1)
    })
  })

  describe(`${fixture.system}, loaded`, () => {
    row('whole', async () => {
      await open.load()
      expect(await names()).toEqual(['Person 1', 'Person 2', 'Person 3'])
      const table = await scratch.warehouse.catalog.findTable('health', open.table)
      expect(table?.columns.filter((column) => column.primaryKey).length).toBeGreaterThan(0)
    })

    row('groups', async () => {
      const { column } = fixture.group!
      await open.load()
      const rows = await rowsOf(open.groupTable, '_index')
      const [first] = await rowsOf()
      expect(rows.map((item) => [item['_root_row_id'], item['_index'], item[column]])).toEqual([
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
      const extra = fixture.columns.extra!
      await open.load()
      open.people.put({ id: 4, extra: 'x' }, 7_000)
      await open.load(fixture.unsupportedRules.increment ? 'FULL' : 'INCREMENTAL')
      expect((await rowsOf()).map((item) => item[extra])).toEqual([null, null, null, 'x'])
      open.people.remove(4)
      await open.load()
      expect((await rowsOf()).map((item) => item[extra])).toEqual([null, null, null])
    })

    row('columnRetyped', async () => {
      const extra = fixture.columns.extra!
      for (const item of [1, 2, 3]) open.people.put({ id: item, extra: item })
      await open.load()
      const before = await typeOf(extra)
      open.people.put({ id: 3, extra: 'three' })
      await open.load()
      expect((await rowsOf()).map((item) => String(item[extra]))).toEqual(['1', '2', 'three'])
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
      open.people.put({ id: 4, isUnstorable: true })
      await open.load()
      expect(await names()).toEqual(['Person 1', 'Person 2', 'Person 3'])
      expect(open.rejected).toMatchObject([{ line: expect.any(Number), reason: expect.stringContaining('U+0000') }])
    })
  })

  testFaults(fixture, row, () => open, names)
  if (fixture.account) realAccount(fixture, fixture.account, () => scratch.warehouse)
}
