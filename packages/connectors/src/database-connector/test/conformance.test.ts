import { afterAll, beforeAll, beforeEach, describe, expect } from '@jest/globals'
import type { ReadRequest } from '../../connector.ts'
import { scratchWarehouseForAll, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { databasesHere, type TestDatabase } from './databases-under-test.ts'
import { testEveryRule } from '../../../test/test-every-rule.ts'
import { never, openHarness, type ConnectorHarness } from '../../../test/connector-harness.ts'
import type { unsupportedByDatabases } from '../../../test/unsupported-conformance-rules.ts'

/** Rows of a kilobyte: more than a process of this suite holds at once. */
const crowd = 120_000

describe.each(databasesHere)('$name, rules for all sources', ({ missing, start, type, without }) => {
  const scratch = scratchWarehouseForAll()
  let database: TestDatabase
  let rig: ConnectorHarness
  let table: string

  beforeAll(async () => {
    if (missing) return
    database = await start()
    rig = await openHarness(scratch)
  })
  beforeEach(async () => {
    if (missing) return
    table = word('people_')
    rig.table = word('rows_')
    await database.run(`create table ${table} (id integer primary key, name varchar(2000))`)
    for (const id of [1, 2, 3]) await database.run(`insert into ${table} values (${id}, 'Person ${id}')`)
  })
  afterAll(async () => {
    await rig?.[Symbol.asyncDispose]()
    await database?.[Symbol.asyncDispose]()
  })

  const reading = (changes: { password?: string; jdbcSource?: object; sqlQuery?: string } = {}): ReadRequest => {
    const { password, ...jdbcSource } = { ...database.jdbcSource, ...changes.jdbcSource }
    const what = { sqlQuery: changes.sqlQuery ?? `select * from ${table} order by id` }
    return {
      type,
      settings: { type, jdbcSource, ...what },
      secrets: { password: changes.password ?? password },
      input: {},
    }
  }
  const incremental = (cursorColumn: string): ReadRequest => {
    const given = reading()
    return { ...given, settings: { ...(given.settings as object), incremental: { cursorColumn, key: ['id'] } } }
  }
  const names = async () => (await rig.values('id', 'name')).map(([, name]) => name)
  /** A query whose rows come so slowly that something can happen to it. */
  const slowly = () => reading({ sqlQuery: database.slow(table) })

  testEveryRule<keyof typeof unsupportedByDatabases>(
    without,
    {
      async tried() {
        expect(await rig.testConnection(reading())).toBeUndefined()
      },

      async refused() {
        expect(await rig.testConnection(reading({ password: 'not-the-password' }))).toMatchObject({
          code: 'AUTHENTICATION_FAILED',
          message: expect.stringMatching(/check/i),
        })
        expect(await rig.testConnection(reading({ jdbcSource: { port: 65_529 } }))).toMatchObject({
          code: 'CONNECTION_REFUSED',
          message: expect.stringContaining('65529'),
        })
      },

      async lookups() {
        const found = await rig.sources.listOptions('tables', reading(), never)
        expect(found?.map(({ name }) => name)).toContain(table)
        expect(await rig.sources.listOptions('nothing-of-the-kind', reading(), never)).toBeUndefined()
      },

      async preview() {
        const { columns, rows, complete } = await rig.sources.preview(reading(), 2, never)
        expect([rows.length, complete]).toEqual([2, false])
        expect(columns.map(({ name }) => name)).toEqual(['id', 'name'])
      },

      async whole() {
        await rig.load(reading())
        expect(await rig.values('id', 'name')).toEqual([1, 2, 3].map((id) => [String(id), `Person ${id}`]))
        // A table that is chosen by its name brings its key along.
        const chosen = reading()
        const { sqlQuery: _, ...settings } = chosen.settings as Record<string, unknown>
        await rig.load({ ...chosen, settings: { ...settings, tables: [{ schema: database.schema, name: table }] } })
        expect(await names()).toEqual(['Person 1', 'Person 2', 'Person 3'])
      },

      async increment() {
        await rig.load(incremental('id'))
        await database.run(`insert into ${table} values (4, 'Person 4')`)
        await rig.load(incremental('id'), 'INCREMENTAL')
        expect(await names()).toEqual([1, 2, 3, 4].map((id) => `Person ${id}`))
      },

      async edit() {
        await database.run(`alter table ${table} add column version integer`)
        await database.run(`update ${table} set version = id`)
        await rig.load(incremental('version'))
        await database.run(`update ${table} set name = 'Edited', version = 4 where id = 1`)
        await database.run(`update ${table} set name = null, version = 5 where id = 2`)
        await rig.load(incremental('version'), 'INCREMENTAL')
        expect(await names()).toEqual(['Edited', null, 'Person 3'])
      },

      async gone() {
        await rig.load(reading())
        await database.run(`delete from ${table} where id = 3`)
        await database.run(`update ${table} set name = 'Somebody else' where id = 2`)
        await rig.load(reading(), 'INCREMENTAL')
        expect(await names()).toEqual(['Person 1', 'Somebody else'])
      },

      async columnAdded() {
        await rig.load(reading())
        await database.run(`alter table ${table} add column extra integer`)
        await database.run(`update ${table} set extra = 7 where id = 3`)
        await rig.load(reading())
        expect(await rig.values('id', 'extra')).toEqual([
          ['1', null],
          ['2', null],
          ['3', '7'],
        ])
        await database.run(`alter table ${table} drop column extra`)
        await rig.load(reading())
        expect((await rig.values('id', 'extra')).map(([, extra]) => extra)).toEqual([null, null, null])
      },

      async columnRetyped() {
        await database.run(`alter table ${table} add column extra integer`)
        await database.run(`update ${table} set extra = id`)
        await rig.load(reading())
        expect(await rig.typeOf('extra')).toBe('INTEGER')
        await database.run(database.retype(table, 'extra', 'varchar(20)'))
        await database.run(`update ${table} set extra = 'three' where id = 3`)
        await rig.load(reading())
        expect((await rig.values('id', 'extra')).map(([, extra]) => extra)).toEqual(['1', '2', 'three'])
        expect(await rig.typeOf('extra')).toBe('TEXT')
      },

      async empty() {
        await database.run(`delete from ${table}`)
        await rig.load(reading())
        expect(await names()).toEqual([])
        await database.run(`insert into ${table} values (1, 'Person 1')`)
        await rig.load(reading())
        expect(await names()).toEqual(['Person 1'])
      },

      async badRecord() {
        await database.run(`insert into ${table} values (4, 'Person\\0 4')`)
        await rig.load(reading())
        expect(await names()).toEqual(['Person 1', 'Person 2', 'Person 3'])
        expect(rig.rejected).toMatchObject([{ line: 4, reason: expect.stringContaining('NUL') }])
      },

      async keepsBreaking() {
        await rig.load(reading())
        // Whatever it was about to do: sign in, say which columns there are, or give rows.
        for (const milliseconds of [0, 200, 400, 600, 800, 1_000, 1_200]) {
          const from = performance.now()
          const loading = rig.load(slowly()).catch((error: unknown) => error)
          const state = { over: false }
          void loading.then(() => (state.over = true))
          while (!state.over) {
            if (performance.now() - from >= milliseconds) await database.cutConnections()
            await new Promise((resolve) => setTimeout(resolve, 20))
          }
          const code = expect.stringMatching(/^CONNECTION_(LOST|CLOSED)$/)
          expect(await loading).toMatchObject({ name: 'SourceProblem', code })
        }
        expect(await names()).toHaveLength(3)
      },

      async expired() {
        await rig.load(reading())
        const before = reading()
        await database.changePassword('another-pass-phrase')
        try {
          await expect(rig.load(before)).rejects.toMatchObject({
            code: 'AUTHENTICATION_FAILED',
            message: expect.stringMatching(/check/i),
          })
        } finally {
          await database.changePassword(database.jdbcSource.password)
        }
        expect(await names()).toHaveLength(3)
      },

      async fails() {
        await rig.load(reading())
        // The third row is what fails, when others are on their way.
        await expect(rig.load(reading({ sqlQuery: database.failing(table) }))).rejects.toMatchObject({
          name: 'SourceProblem',
          message: expect.stringMatching(database.failure),
        })
        expect(await names()).toHaveLength(3)
      },

      async cancelled() {
        await rig.expectCancelled(slowly(), () => database.isAsked())
      },

      async large() {
        await database.run(database.fill(table, crowd))
        const { rows, bytes, reachableFirst, reachableMost } = await rig.readMeasured(
          reading({ sqlQuery: `select * from ${table}` }),
        )
        expect(rows).toBe(crowd + 3)
        expect(reachableMost - reachableFirst).toBeLessThan(bytes / 4)
      },

      async secrets() {
        rig.expectRedacted([database.jdbcSource.password])
      },
    },
    { missing },
  )
})
