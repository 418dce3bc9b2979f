import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { drawCount } from '@sluice/testing/random-case-count'
import { describeUnless } from '@sluice/testing/skip-tests'
import { scratchWarehouseForAll, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { type ConnectorHarness, openHarness } from '../../../../test/connector-harness.ts'
import { databasesHere, type TestDatabase } from '../../test/databases-under-test.ts'

/** One write to the source. LATE: the cursor is smaller than others that were read, but within `lookback`. TIE: it equals one that was read. */
interface Write {
  id: number
  text: string | null
  cursor: 'NEXT' | 'TIE' | 'LATE' | 'NULL' | 'FUTURE'
  isDeleted: boolean
}

type CursorType = 'bigint' | 'decimal' | 'date' | 'timestamp' | 'zoned'

interface History {
  cursorType: CursorType
  deletedType: 'boolean' | 'smallint' | 'timestamp' | undefined
  hasLookback: boolean
  source: 'query' | 'table'
  /** The writes before each increment. */
  steps: Write[][]
}

const write = fc.record<Write>({
  id: fc.integer({ min: 1, max: 5 }),
  text: fc.constantFrom(null, '', 'x', 'y'),
  cursor: fc.constantFrom('NEXT', 'NEXT', 'NEXT', 'TIE', 'LATE', 'NULL', 'FUTURE'),
  isDeleted: fc.constantFrom(false, false, true),
})
const history = fc.record<History>({
  cursorType: fc.constantFrom('bigint', 'decimal', 'date', 'timestamp', 'zoned'),
  deletedType: fc.constantFrom(undefined, 'boolean', 'smallint', 'timestamp'),
  hasLookback: fc.boolean(),
  source: fc.constantFrom('query', 'table'),
  steps: fc.array(fc.array(write, { maxLength: 5 }), { minLength: 2, maxLength: 4 }),
})

const to = (id: number, text: string, cursor: Write['cursor'] = 'NEXT', isDeleted = false): Write => ({
  id,
  text,
  cursor,
  isDeleted,
})
/** Every kind of write, before and after rows were read. */
const everyWrite: Write[][] = [
  [to(1, 'a'), to(2, 'b'), to(3, 'c'), to(4, 'no cursor', 'NULL'), to(5, 'gone before', 'NEXT', true)],
  [
    to(9, 'tie', 'TIE'),
    to(1, 'late', 'LATE'),
    to(4, 'changed', 'NULL'),
    to(2, 'b', 'NEXT', true),
    to(7, 'f', 'FUTURE'),
  ],
  [
    to(1, 'a2'),
    to(3, 'c2'),
    to(4, 'c', 'TIE'),
    to(5, 'back'),
    to(8, 'new', 'NULL', true),
    to(10, 'new', 'NULL'),
    to(6, 'late', 'LATE'),
  ],
]
const fixed: History[] = [
  { cursorType: 'bigint', deletedType: 'boolean', hasLookback: true, source: 'table', steps: everyWrite },
  { cursorType: 'decimal', deletedType: undefined, hasLookback: true, source: 'query', steps: everyWrite },
  { cursorType: 'date', deletedType: 'smallint', hasLookback: true, source: 'query', steps: everyWrite },
  { cursorType: 'timestamp', deletedType: 'timestamp', hasLookback: false, source: 'table', steps: everyWrite },
  { cursorType: 'zoned', deletedType: 'timestamp', hasLookback: true, source: 'query', steps: everyWrite },
]
const runs = drawCount({ short: 0, long: 40 })

/** The clock of the server differs from UTC, so that times without a zone are local. */
const offset = '+05:45'

interface Dialect {
  types: Record<CursorType, string>
  deletedTypes: Record<'boolean' | 'smallint' | 'timestamp', string>
  /** Statements after which sessions have the offset. */
  setZone(database: string): string[]
  /** The time of the clock of the server, more or less some seconds. */
  clock(type: CursorType, seconds: number): string
}

const dialects: Record<string, Dialect> = {
  PostgreSQL: {
    types: {
      bigint: 'bigint',
      decimal: 'numeric(30,10)',
      date: 'date',
      timestamp: 'timestamp',
      zoned: 'timestamptz',
    },
    deletedTypes: { boolean: 'boolean', smallint: 'smallint', timestamp: 'timestamptz' },
    setZone: (database) => [
      `alter database ${database} set timezone = '<+0545>-05:45'`,
      `set timezone = '<+0545>-05:45'`,
    ],
    clock: (type, seconds) =>
      type === 'date'
        ? `(clock_timestamp()::date + ${Math.trunc(seconds / 86_400)})`
        : `(clock_timestamp() + interval '${seconds} seconds')`,
  },
  MariaDB: {
    types: {
      bigint: 'bigint',
      decimal: 'decimal(30,10)',
      date: 'date',
      timestamp: 'datetime(6)',
      zoned: 'timestamp(6) null default null',
    },
    deletedTypes: { boolean: 'bit(1)', smallint: 'tinyint(1)', timestamp: 'datetime' },
    setZone: () => [`set global time_zone = '${offset}'`, `set time_zone = '${offset}'`],
    clock: (type, seconds) =>
      type === 'date'
        ? `date_add(date(sysdate(6)), interval ${Math.trunc(seconds / 86_400)} day)`
        : `date_add(sysdate(6), interval ${seconds} second)`,
  },
}

const isNumber = (type: CursorType) => type === 'bigint' || type === 'decimal'
/** Numbers that a floating-point number cannot hold. */
const bigintBase = 2n ** 53n + 1n
const yearSeconds = 365 * 86_400

describe.each(databasesHere)('incremental reads of $name', ({ name, missing, start, type }) => {
  describeUnless(missing)('on a real server', () => {
    const scratch = scratchWarehouseForAll()
    const dialect = dialects[name]!
    let database: TestDatabase
    let harness: ConnectorHarness
    beforeAll(async () => {
      database = await start()
      for (const statement of dialect.setZone(database.jdbcSource.database)) await database.run(statement)
      harness = await openHarness(scratch)
    })
    afterAll(async () => {
      await harness?.[Symbol.asyncDispose]()
      await database?.[Symbol.asyncDispose]()
    })

    async function createSource({ cursorType, deletedType, hasLookback, source }: History) {
      const table = word('source_')
      const deleted = deletedType ? `, gone ${dialect.deletedTypes[deletedType]}` : ''
      await database.run(
        `create table ${table} (site integer, id integer, body varchar(50), moved ${dialect.types[cursorType]}${deleted}, primary key (site, id))`,
      )
      const { password, ...jdbcSource } = database.jdbcSource
      const rows =
        source === 'table'
          ? { tables: [{ schema: database.schema, name: table }] }
          : { sqlQuery: `select * from ${table}` }
      const incremental = {
        cursorColumn: 'MOVED',
        key: ['id', 'Site'],
        ...(hasLookback && { lookback: isNumber(cursorType) ? 100 : 90_000 }),
        ...(deletedType && { deletedColumn: 'gone' }),
      }
      return {
        table,
        request: { type, settings: { type, jdbcSource, ...rows, incremental }, secrets: { password }, input: {} },
      }
    }

    /** Writes rows. A write that the settings cannot find is replaced by one that they find. */
    function createWriter(table: string, { cursorType, deletedType, hasLookback }: History) {
      let count = 0
      let last: string | undefined
      let hasFuture = false
      const number = (value: number) =>
        cursorType === 'bigint'
          ? String(bigintBase + BigInt(value))
          : `12345678901234567890.${String(value).padStart(10, '0')}`
      /** Returns the value of a cursor, and whether it is the largest one up to the clock. */
      function cursorOf(cursor: Write['cursor']): { value: string; isLargest?: true } {
        if (cursor === 'NULL') return { value: 'null' }
        if (cursor === 'TIE' && last !== undefined && (hasLookback || !hasFuture)) return { value: last }
        const isLate = cursor === 'LATE' && hasLookback
        if (isNumber(cursorType))
          return isLate ? { value: number(Math.max(0, count - 50)) } : { value: number((count += 1)), isLargest: true }
        if (cursor === 'FUTURE') {
          hasFuture = true
          return { value: dialect.clock(cursorType, 10 * yearSeconds) }
        }
        return isLate
          ? { value: dialect.clock(cursorType, -3_000) }
          : { value: dialect.clock(cursorType, 0), isLargest: true }
      }
      return async ({ id, text, cursor, isDeleted }: Write) => {
        const { value, isLargest } = cursorOf(cursor)
        const body = text === null ? 'null' : `'${text}'`
        const mark = {
          boolean: isDeleted ? 'true' : 'false',
          smallint: isDeleted ? '2' : '0',
          timestamp: isDeleted ? 'now()' : 'null',
        }
        const gone = deletedType ? `, ${mark[deletedType]}` : ''
        await database.run(`delete from ${table} where site = 7 and id = ${id}`)
        await database.run(`insert into ${table} values (7, ${id}, ${body}, ${value}${gone})`)
        if (isLargest) last = `(select moved from (select * from ${table}) as written where id = ${id})`
      }
    }

    async function rowsOf(table: string): Promise<unknown[]> {
      const { rows } = await scratch.superuser.query({
        text: `select t::text from health.${table} t order by 1`,
        rowMode: 'array',
      })
      return rows.flat()
    }

    async function holds(given: History): Promise<void> {
      const { table, request } = await createSource(given)
      const writeRow = createWriter(table, given)
      const [increments, whole] = [word('increments_'), word('whole_')]
      for (const writes of given.steps) {
        for (const one of writes) await writeRow(one)
        harness.table = increments
        await harness.load(request, 'INCREMENTAL')
      }
      harness.table = whole
      await harness.load(request)
      expect(await rowsOf(increments)).toEqual(await rowsOf(whole))
    }

    // A short run tests each type of cursor on one database.
    it.each(fixed.filter((_, index) => runs > 0 || (index % 2 === 0) === (name === 'PostgreSQL')))(
      'load the rows of a full read, for a cursor of type $cursorType',
      async (given) => {
        harness.messages.length = 0
        await holds(given)
        // Only the first load has no cursor to continue from.
        expect(harness.messages.filter((message) => message.startsWith('All rows'))).toHaveLength(1)
      },
    )

    if (runs > 0)
      it('load the rows of a full read, for random histories', async () => {
        await fc.assert(fc.asyncProperty(history, holds), { numRuns: runs, endOnFailure: true })
      })
  })
})
