import { describe, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-test-runs'
import { until } from '@sluice/testing/wait-until'
import { dyingAt } from '../../../test/kill-database-connections.ts'
import { leftovers } from '../../../test/find-leftover-tables.ts'
import { columns, never, stage } from '../../../test/row-fixtures.ts'
import { scratchWarehouseForAll, word } from '../../../test/scratch-warehouse.ts'
import type { Warehouse } from '../../warehouse.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'

const keyed = (id: string) =>
  columns({ id, name: 'TEXT' }).map((column) => ({ ...column, primaryKey: column.name === 'id' }))

describe('a worker that is killed between two steps', () => {
  const scratch = scratchWarehouseForAll()

  const gone = () =>
    until(async () => {
      const { rowCount } = await scratch.superuser.query(
        `select from pg_stat_activity where usename = $1 and state <> 'idle'`,
        [scratch.access.load.user],
      )
      return rowCount === 0
    })

  const cases = [
    { what: 'replacing', mode: 'REPLACE', type: 'INTEGER', rows: ['2 B', '3 C'] },
    { what: 'merging in place', mode: 'MERGE', type: 'INTEGER', rows: ['1 a', '2 B', '3 C'] },
    { what: 'merging into a wider shape', mode: 'MERGE', type: 'BIGINT', rows: ['1 a', '2 B', '3 C'] },
  ] as const

  it.each(isLongRun ? cases : cases.slice(2))(
    'while $what leaves all old or all new rows, and the next attempt publishes the new rows once',
    async ({ mode, type, rows }) => {
      let published = 0
      let adoptions = 0
      // A short run tests every second step, from step 1 or 2 on. The message of a failure names the step.
      const stride = isLongRun ? 1 : 2
      const firstStep = 1 + Math.floor(Math.random() * stride)
      // Before a step is after the one before it, but for what only the client did: once is enough.
      for (const when of mode === 'REPLACE' ? (['before', 'after'] as const) : (['after'] as const)) {
        let further = true
        for (let [step, round] = [firstStep, 0]; further; step += stride, round += 1) {
          const table = word('cases_')
          const run = word('run')
          let staged: string | undefined
          const publishing = { mode, cursors: { [table]: 2 } }
          const go = async (warehouse: Warehouse, attempt: number, shape = keyed(type), cursor = 2) => {
            const target = { table, columns: shape, run: attempt ? run : word('run'), attempt: Math.max(1, attempt) }
            await using load = await stage(
              warehouse,
              target,
              attempt
                ? [
                    [2, 'b'],
                    [3, 'c'],
                  ]
                : [
                    [1, 'a'],
                    [2, 'old'],
                  ],
            )
            const upper = [{ statement: `update ${table} set name = upper(name) where id > 1` }]
            await warehouse.loader.transform([load], attempt ? upper : [], never)
            if (attempt === 1) staged = JSON.stringify(await warehouse.loader.describeStaged!([load], never))
            await warehouse.loader.publish([load], async () => true, never, { mode, cursors: { [table]: cursor } })
          }
          const seen = async () => {
            const { rows } = await scratch.superuser.query(`select id, name from health.${table} order by id`)
            return rows.map(({ id, name }) => `${id} ${name}`)
          }
          await go(scratch.warehouse, 0, keyed('INTEGER'), 1)
          const doomed = openPostgresWarehouse(scratch.access)
          further = await dyingAt(step, when, () => go(doomed, 1))
          await doomed[Symbol.asyncDispose]()
          await gone()

          const found = await scratch.warehouse.loader.findPublication(run)
          const at = (await scratch.warehouse.loader.findLastLoad('health', table)).cursor
          const now = await seen()
          expect({ step, when, now, at }).toEqual({
            step,
            when,
            now: found ? rows : ['1 a', '2 old'],
            at: found ? 2 : 1,
          })
          if (found) published += 1
          // Every second time, so that an attempt that loads anew is tested as well.
          const adopted =
            found || staged === undefined || round % 2 === 0
              ? undefined
              : await scratch.warehouse.loader.adoptStaged!('health', JSON.parse(staged), 2, never)
          if (adopted) {
            await using load = adopted[0]!
            await scratch.warehouse.loader.publish([load], async () => true, never, publishing)
            adoptions += 1
          }
          await scratch.warehouse.upkeep.sweepStaging(async () => new Set())
          expect({ step, when, left: await leftovers(scratch.superuser) }).toEqual({ step, when, left: [] })
          if (!found && !adopted) await go(scratch.warehouse, 2)
          expect([await seen(), (await scratch.warehouse.catalog.findTable('health', table))?.rowCount]).toEqual([
            rows,
            rows.length,
          ])
          const { rowCount } = await scratch.superuser.query('select from sluice.ledger where run = $1', [run])
          expect([rowCount, await leftovers(scratch.superuser)]).toEqual([1, []])
          expect(step).toBeLessThan(100)
        }
      }
      // Otherwise the steps would not have gone past the publication. How many steps there are depends on timing (the
      // publisher looks several times for a lock), so a short run, which skips steps, may have few of each kind.
      const fewest = isLongRun ? 3 : 1
      expect(published).toBeGreaterThanOrEqual(fewest)
      expect(adoptions).toBeGreaterThanOrEqual(fewest)
    },
  )
})
