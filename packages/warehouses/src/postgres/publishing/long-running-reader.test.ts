import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, afterAll, describe, expect, it } from '@jest/globals'
import { columns, loadAll, never, numbered } from '../../../test/row-fixtures.ts'
import { connectedAs, scratchWarehouseForAll, word } from '../../../test/scratch-warehouse.ts'
import { binary, numberedTuples } from '../../../test/copy-tuples.ts'
import type { Warehouse } from '../../warehouse.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'

/** Longer than the swap's first tries. For half an hour: `SLUICE_READER_SECONDS=1800 SLUICE_LOADS=100`. */
const seconds = Number(process.env['SLUICE_READER_SECONDS'] ?? 12)
const loads = Number(process.env['SLUICE_LOADS'] ?? 12)

const two = columns({ id: 'INTEGER', name: 'TEXT' })

describe('a reader that holds a table in a long transaction', () => {
  const scratch = scratchWarehouseForAll()
  let warehouse: Warehouse
  beforeAll(() => {
    warehouse = openPostgresWarehouse(scratch.access)
  })
  afterAll(async () => warehouse[Symbol.asyncDispose]())

  /** Adds the messages of the publication to `said`. Returns the number of readings of the source. */
  async function load(table: string, { large, said }: { large: boolean; said: string[] }) {
    let reads = 0
    const content = binary(
      () => {
        reads += 1
        return numberedTuples(5)
      },
      large ? { size: 1 << 30 } : {},
    )
    const target = { schema: 'health', table, columns: two, run: word('run'), attempt: 1 }
    await using load = await warehouse.loader.stage(target, never)
    await load.write(content, never)
    const begun = performance.now()
    const { rows } = await warehouse.loader.publish([load], async () => true, never, {
      onWait: (why) => void said.push(why),
    })
    return { rows, reads, waited: performance.now() - begun }
  }

  it.each([
    ['frozen rows over one connection', false],
    ['rows that older snapshots do not see over two connections', true],
  ])(
    'delays only the load of %s into this table until it ends, and no load of another table',
    async (_what, large) => {
      const table = word('cases_')
      await loadAll(warehouse, { table, columns: two }, numbered(3))
      await using reader = await connectedAs(scratch.access, 'read')
      await reader.query('begin isolation level repeatable read')
      const count = async () => (await reader.query(`select count(*)::int as n from health.${table}`)).rows[0].n
      expect(await count()).toBe(3)
      const said: string[] = []
      const publishing = load(table, { large, said })
      const end = performance.now() + seconds * 1_000
      let others = 0
      // On a busy machine, the publication begins to wait late.
      while (performance.now() < end || said.length === 0) {
        // Neither idle nor in one long statement: none of its limits ends it.
        expect(await count()).toBe(3)
        if (others < loads) {
          await loadAll(warehouse, { table: word('other_'), columns: two }, numbered(2))
          others += 1
        } else await sleep(100)
      }
      await reader.query('commit')
      const { rows, reads, waited } = await publishing
      expect({ rows, reads, said: said.length }).toEqual({ rows: 5, reads: 1, said: 1 })
      expect(waited).toBeGreaterThan(1_000)
      expect(others).toBe(loads)
      expect((await reader.query(`select count(*)::int as n from health.${table}`)).rows[0].n).toBe(5)
    },
    (seconds + 60) * 1_000,
  )
})
