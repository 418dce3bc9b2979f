import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { describeUnless } from '@sluice/testing/skip-tests'
import { openSqlWarehouse } from '../src/sql-warehouse/sql-warehouse.ts'
import type { ClientAccess } from '../src/redshift/redshift-settings.ts'
import { bucketOf } from '../src/redshift/staging-bucket.ts'
import { redshiftDialect } from '../src/redshift/redshift-dialect.ts'
import { clientPrefix } from '../src/redshift/redshift-loader.ts'
import type { Warehouse } from '../src/warehouse.ts'
import { columns, loadAll, never, numbered, stage } from './row-fixtures.ts'
import { connected, superuserUrl } from './scratch-warehouse.ts'
import type { Cut, RedshiftStandIn } from './redshift-stand-in.ts'
import { redshiftMissing, redshiftServer, type RedshiftServer } from './redshift-under-test.ts'
import { rowsIn } from './warehouse-under-test.ts'

const narrow = columns({ id: 'INTEGER', name: 'TEXT' })
const wide = columns({ id: 'BIGINT', name: 'TEXT' })
const oldRows = [
  [1, 'old'],
  [2, 'old'],
]
const newRows = [['5000000000', 'new']]
/** How many of the fifty statements or so lose their connection; the seed decides which. */
const cutStatements = drawCount({ short: 6, long: 100 })
const seed = process.env['SLUICE_SEED'] ?? randomBytes(4).toString('hex')
const missing =
  longRunOnly ??
  redshiftMissing ??
  (process.env['REDSHIFT_TEST_URL'] ? 'connections are cut at the stand-in only' : undefined)

describeUnless(missing)('a publication in Redshift that is interrupted', () => {
  let server: RedshiftServer
  let standIn: RedshiftStandIn
  let access: ClientAccess
  let warehouse: Warehouse
  let round = 0
  const open = () => openSqlWarehouse(redshiftDialect(access))
  beforeAll(async () => {
    server = await redshiftServer()
    standIn = server.standIn!
    access = server.client()
    warehouse = open()
    await warehouse.catalog.ensureSchema('health')
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  /** Publishes two tables, one of them under a view, with types that widen. Answers how many statements that took. */
  async function publishWith(cut: Cut | undefined): Promise<number> {
    round += 1
    const [one, two, over] = [`cases${round}`, `other${round}`, `over${round}`]
    for (const table of [one, two]) await loadAll(warehouse, { table, columns: narrow }, numbered(2, 'old'))
    const view = { id: randomUUID(), schema: 'health', name: over, query: `select id, name from ${one}` }
    await warehouse.views.define({ ...view, materialized: false }, { seconds: 30 }, never)
    const run = randomUUID()
    const dying = open()
    const staged = (of: Warehouse, attempt = 1) =>
      Promise.all([one, two].map((table) => stage(of, { table, columns: wide, run, attempt }, [['5000000000', 'new']])))
    const loads = await staged(dying)
    standIn.count(cut)
    // The process dies there, without a clean-up or a message to the server.
    const outcome = await dying.loader.publish(loads, async () => true, never).catch((error: unknown) => error)
    const statements = standIn.count()
    if (cut) expect(outcome).toBeDefined()

    warehouse = open()
    const found = await warehouse.loader.findPublication(run)
    const all = async () => [await rowsIn(warehouse, one), await rowsIn(warehouse, two), await rowsIn(warehouse, over)]
    expect(await all()).toEqual(found ? [newRows, newRows, newRows] : [oldRows, oldRows, oldRows])
    const again = await staged(warehouse, 2)
    expect((await warehouse.loader.publish(again, async () => true, never)).attempt).toBe(found ? 1 : 2)
    expect(await all()).toEqual([newRows, newRows, newRows])
    // The worker that lost its connection may still run, and remove its staging tables. The tables of the next run must
    // stay.
    for (const load of [...loads, ...again]) await load[Symbol.asyncDispose]()
    await loadAll(warehouse, { table: one, columns: wide }, newRows)
    expect(await all()).toEqual([newRows, newRows, newRows])
    return statements
  }

  it(`is complete or absent if the connection is lost at any statement (SLUICE_SEED=${seed})`, async () => {
    const statements = await publishWith(undefined)
    expect(statements).toBeGreaterThan(15)
    // What the server never heard of leaves it as the statement before did.
    await publishWith({ statement: 1, heard: false })
    // The last is the commit, whose answer is what a worker waits for.
    const cuts = new Set([statements - 1, statements])
    const stride = Math.ceil(statements / cutStatements)
    for (let statement = 1 + (Number.parseInt(seed, 16) % stride); statement < statements; statement += stride)
      cuts.add(statement)
    for (const statement of cuts) await publishWith({ statement, heard: true })
    await warehouse.upkeep.sweepStaging(async () => new Set())
    await using superuser = await connected(superuserUrl(access.database))
    const left = await superuser.query(
      `select relname from pg_class where relname like 'sluice~%' and relkind in ('r', 'v')`,
    )
    expect(left.rows).toEqual([])
  }, 900_000)

  it('has its files in the bucket removed by sweepStaging, except the files of active runs', async () => {
    const bucket = bucketOf(access.staging)
    const left = async () =>
      (await bucket.list(clientPrefix(access))).map((key) => key.slice(clientPrefix(access).length))
    expect(await left()).toEqual([])
    for (const run of ['dead-run', 'living-run'])
      await bucket.put(`${clientPrefix(access)}${run}/1-x/part-000001.csv.gz`, Buffer.from('rows'), never)
    const newborn = 'newborn-run/1-x/part-000001.csv.gz'
    const alive = new Set(['living-run'])
    await warehouse.upkeep.sweepStaging(async () => {
      const before = new Set(alive)
      if (!alive.has('newborn-run')) await bucket.put(`${clientPrefix(access)}${newborn}`, Buffer.from('rows'), never)
      alive.add('newborn-run')
      return before
    })
    expect(await left()).toContain(newborn)
    await bucket.remove(`${clientPrefix(access)}${newborn}`)
    expect(await left()).toEqual(['living-run/1-x/part-000001.csv.gz'])
    await warehouse.upkeep.sweepStaging(async () => new Set())
    expect(await left()).toEqual([])
  })
})
