import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { LeaseLost } from '../src/warehouse.ts'
import { plainSql } from '../src/sql-warehouse/sql-statement.ts'
import { synapseDialect } from '../src/synapse/synapse-dialect.ts'
import { columns, loadAll, never, numbered, stage } from './row-fixtures.ts'
import { gone, texts } from './tds/response-rules.ts'
import { type SynapseUnderTest, synapseStandIn } from './synapse-stand-in.ts'

const shape = columns({ id: 'INTEGER', name: 'TEXT' })
const isDefinition = (text: string) => /^(rename|alter|create|if object_id)/.test(text)

describe('a Synapse warehouse, against a stand-in', () => {
  let pool: SynapseUnderTest
  beforeAll(async () => {
    pool = await synapseStandIn()
    await pool.warehouse.catalog.ensureSchema('health')
  })
  afterAll(async () => {
    await pool?.[Symbol.asyncDispose]()
  })
  const tables = () => pool.memory.names().map((name) => name.replace('c_abc_', ''))
  const told = (from: number) => pool.server.statements.slice(from).map(({ text }) => text)
  const rowsOf = async (table: string) => (await pool.warehouse.catalog.findTable('health', table))?.rowCount

  it('creates the schemas of the organisation first, and requires READ_COMMITTED_SNAPSHOT', async () => {
    const said = told(0)
    expect(said).toContain(`if schema_id(N'c_abc') is null exec(N'create schema [c_abc]')`)
    expect(said).toContainEqual(
      expect.stringMatching(
        /^if exists .* exec\(N'alter authorization on schema::\[c_abc_health\] to \[c_abc_views\];/,
      ),
    )
    expect(said.filter((text) => text.startsWith('create table [c_abc].'))).toEqual(
      ['marks', 'runs', 'decisions', 'turn'].map((table) =>
        expect.stringMatching(
          new RegExp(`^create table \\[c_abc\\]\\.\\[${table}\\] .* with \\(heap, distribution = round_robin\\)$`),
        ),
      ),
    )
    await using other = await synapseStandIn()
    other.instead = ({ text }) => (text.includes('is_read_committed_snapshot_on') ? texts(['n'], [[0]]) : undefined)
    await expect(other.warehouse.catalog.ensureSchema('health')).rejects.toMatchObject({
      code: 'WAREHOUSE_NOT_SET_UP',
      message: expect.stringContaining('ALTER DATABASE [pool] SET READ_COMMITTED_SNAPSHOT ON'),
    })
  })

  it('stores a decision row, and then replaces the table by two renames', async () => {
    await loadAll(pool.warehouse, { table: 'cases', columns: shape }, numbered(2, 'old'))
    const from = pool.server.statements.length
    const publication = await loadAll(pool.warehouse, { table: 'cases', columns: shape }, numbered(3, 'new'))
    expect(publication).toMatchObject({ rows: 3, tables: [{ schema: 'health', table: 'cases', rows: 3 }] })
    const said = told(from)
    const decided = said.findIndex((text) => text.startsWith('insert into [c_abc].[decisions]'))
    const begun = said.indexOf('BEGIN')
    const renames = said.flatMap((text, index) => (text.startsWith('rename object') ? [[index, text] as const] : []))
    expect(said[begun + 1]).toBe('update [c_abc].[turn] set part = 1 - part')
    expect(begun).toBeLessThan(decided)
    expect(said[decided + 1]).toBe('COMMIT')
    expect(renames.map(([, text]) => text)).toEqual([
      expect.stringMatching(/^rename object \[c_abc_health\]\.\[cases\] to \[sluice~aside_\w+\]$/),
      expect.stringMatching(/^rename object \[c_abc_health\]\.\[sluice~load_\w+\] to \[cases\]$/),
    ])
    expect(renames[0]![0]).toBeGreaterThan(decided)
    expect(tables()).toEqual(['health.cases'])
    expect(await rowsOf('cases')).toBe(3)
  })

  it('changes nothing and leaves no staging tables if the lease is lost', async () => {
    const from = pool.server.statements.length
    {
      await using load = await stage(pool.warehouse, { table: 'cases', columns: shape }, numbered(1))
      await expect(pool.warehouse.loader.publish([load], async () => false, never)).rejects.toBeInstanceOf(LeaseLost)
    }
    expect(told(from).filter((text) => text.startsWith('rename'))).toEqual([])
    expect([tables(), await rowsOf('cases')]).toEqual([['health.cases'], 3])
  })

  it('looks up the publication under the lock on the turn table in fenceRun', async () => {
    const from = pool.server.statements.length
    expect(await pool.warehouse.loader.fenceRun(randomUUID(), 1)).toBeUndefined()
    const said = told(from)
    const turn = said.slice(said.lastIndexOf('BEGIN'), said.lastIndexOf('COMMIT'))
    expect(turn[1]).toBe('update [c_abc].[turn] set part = 1 - part')
    expect(turn.filter((text) => text.includes('[runs]'))).toHaveLength(1)
  })

  it('stores decisions one after another, but no decision of an attempt that lost its lease', async () => {
    const run = randomUUID()
    await using one = await stage(pool.warehouse, { table: 'cases', columns: shape, run, attempt: 1 }, numbered(4))
    await using other = await stage(pool.warehouse, { table: 'cases', columns: shape, run, attempt: 2 }, numbered(5))
    const [entered, verdict] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()]
    const fence = () => {
      entered.resolve()
      return verdict.promise
    }
    const zombie = pool.warehouse.loader.publish([one], fence, never).catch((error: unknown) => error)
    await entered.promise
    const alive = pool.warehouse.loader.publish([other], async () => true, never)
    await pool.waits()
    expect(pool.memory.ledger.has('decisions')).toBe(false)
    verdict.resolve(false)
    expect(await zombie).toBeInstanceOf(LeaseLost)
    expect(await alive).toMatchObject({ attempt: 2, rows: 5 })
    expect(await rowsOf('cases')).toBe(5)
  })

  it('publishes once if two attempts publish at the same time', async () => {
    const run = randomUUID()
    const target = { table: 'cases', columns: shape, run }
    await using one = await stage(pool.warehouse, { ...target, attempt: 1 }, numbered(6))
    await using other = await stage(pool.warehouse, { ...target, attempt: 2 }, numbered(7))
    const [first, second] = await Promise.all(
      [one, other].map((load) => pool.warehouse.loader.publish([load], async () => true, never)),
    )
    expect(second).toEqual(first)
    expect(await rowsOf('cases')).toBe(first!.rows)
  })

  it('merges the rows once, and retries the rename while the table is locked by a reader', async () => {
    const keyed = shape.map((column) => ({ ...column, primaryKey: column.name === 'id' }))
    await loadAll(pool.warehouse, { table: 'merged', columns: keyed }, numbered(2))
    let busy = 2
    pool.instead = ({ text }) =>
      text.includes('[merged] to [sluice~aside') && busy-- > 0
        ? { number: 1222, message: 'Lock request time out period exceeded.' }
        : undefined
    const from = pool.server.statements.length
    await using load = await stage(pool.warehouse, { table: 'merged', columns: keyed }, numbered(1, 'new'))
    const published = await pool.warehouse.loader.publish([load], async () => true, never, { mode: 'MERGE' })
    expect(published).toMatchObject({ attempt: 1, rows: 1 })
    const said = told(from).filter((text) =>
      /^(create table|rename object|insert into \[c_abc\]\.\[decisions\])/.test(text),
    )
    expect(
      said.map((text) =>
        text.replace(/^(create table|rename object|insert into) \S+?\.\[(\w+(?:~[a-z]+)?).*/s, '$1 $2'),
      ),
    ).toEqual([
      'create table sluice~load',
      'create table sluice~merged',
      'insert into decisions',
      'rename object merged',
      'rename object merged',
      'rename object merged',
      'rename object sluice~merged',
    ])
    await pool.warehouse.catalog.dropTable('health', 'merged')
  })

  it('publishes all or nothing if the connection is lost at any statement, and the next attempt completes it', async () => {
    const target = { table: 'cut', columns: shape }
    await loadAll(pool.warehouse, target, numbered(1, 'old'))
    const all = await pool.publicationOf(target, numbered(1))
    expect(all.filter(isDefinition).length).toBeGreaterThan(2)
    let before = 1
    for (const [index, text] of all.entries())
      for (const heard of text.startsWith('select') ? [false] : [false, true]) {
        const [run, rows] = [randomUUID(), before + 1]
        const load = await stage(pool.warehouse, { ...target, run }, numbered(rows))
        pool.cutAt(index + 1, heard)
        const ended: unknown = await pool.warehouse.loader
          .publish([load], async () => true, never)
          .catch((error) => error)
        // What only tidies up behind a publication may fail.
        expect(ended).toMatchObject(
          ended instanceof Error ? { code: 'WAREHOUSE_UNAVAILABLE', retryable: true } : { run, rows },
        )
        const decided = pool.memory.ledger.has('decisions') || pool.memory.ledger.has('runs', run)
        // Half of them are gone without another word; half tidy up.
        if (index % 2 === 0) expect(await rowsOf('cut')).toBe(decided ? rows : before)
        else await load[Symbol.asyncDispose]()
        const again = await loadAll(pool.warehouse, { ...target, run, attempt: 2 }, numbered(rows))
        expect(again).toMatchObject({ run, attempt: decided ? 1 : 2, rows })
        expect(await rowsOf('cut')).toBe(rows)
        before = rows
      }
    const sweep = () => pool.warehouse.upkeep.sweepStaging(async () => new Set())
    await sweep()
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 600_000)
    await sweep().finally(() => clock.mockRestore())
    expect(tables()).toEqual(['health.cases', 'health.cut'])
    expect(pool.memory.ledger.has('decisions')).toBe(false)
  })

  it.each(['first', 'second'])(
    'completes a publication that was cut off at the %s rename on the next query, and rejects a late rename',
    async (which) => {
      const table = `at_${which}`
      const target = { table, columns: shape }
      await loadAll(pool.warehouse, target, numbered(1, 'old'))
      const all = await pool.publicationOf(target, numbered(2))
      const isRename = (text: string) => text.startsWith('rename object')
      const load = await stage(pool.warehouse, target, numbered(3))
      pool.cutAt(1 + (which === 'first' ? all.findIndex(isRename) : all.findLastIndex(isRename)), false)
      await expect(pool.warehouse.loader.publish([load], async () => true, never)).rejects.toMatchObject({
        retryable: true,
      })
      expect(tables().includes(`health.${table}`)).toBe(which === 'first')
      const counting = `select count(*) as n from ${table}`
      pool.instead = ({ text }) => {
        if (!text.startsWith('select count(*) as n from') || !text.includes(table)) return undefined
        return pool.memory.find('c_abc_health', table) === undefined ? gone(table) : texts(['n'], [[3]])
      }
      const { rows } = await pool.warehouse.queries.query({ text: counting, schemas: ['health'] })
      expect([rows, await rowsOf(table)]).toEqual([[[3]], 3])
      const late = pool.server.statements.findLast(({ text }) => text.includes(`[${table}] to [sluice~aside_`))!
      await using session = await synapseDialect(pool.access).open({ role: 'service' })
      await expect(session.execute(plainSql(late.text))).rejects.toThrow('already in use')
      await pool.warehouse.upkeep.sweepStaging(async () => new Set())
      await expect(session.execute(plainSql(late.text))).rejects.toThrow('already in use')
      expect(await rowsOf(table)).toBe(3)
    },
  )

  it('returns pages in the order of the query', async () => {
    pool.instead = ({ text }) =>
      /^select id from \S+ order by|^select \[c1\]/.test(text) ? texts(['id'], [[2], [1]]) : undefined
    const from = pool.server.statements.length
    const query = { text: 'select id from cases order by name desc', schemas: ['health'] }
    const pages = await Array.fromAsync(pool.warehouse.queries.queryPages(query, 10, never))
    expect(pages.map(({ rows }) => rows)).toEqual([[[2], [1]]])
    const said = told(from).map((text) => text.replaceAll(/pages_\w+/g, 'pages'))
    expect(said).toContain(
      'insert into [c_abc_health].[sluice~pages] ([c1], [n])\nselect c1, row_number() over (order by o1 desc) as n from (\nselect id , name\nfrom [c_abc_health].[cases]\n) as user_query(c1, o1)',
    )
    expect(said).toContain('select [c1] from [c_abc_health].[sluice~pages] order by [n]')
  })

  it('sends only statements that a pool accepts', () => {
    expect(pool.memory.refused).toEqual([])
  })
})
