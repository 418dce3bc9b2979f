import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { columns, loadAll, never, numbered } from '../../../test/row-fixtures.ts'
import { connectedAs, scratchWarehouse, scratchWarehouseForAll, word } from '../../../test/scratch-warehouse.ts'
import { binary, numberedTuples } from '../../../test/copy-tuples.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })

describe('readers with a snapshot older than a load', () => {
  const scratch = scratchWarehouseForAll()
  let table: string

  beforeEach(async () => {
    table = word('cases_')
    await loadAll(scratch.warehouse, { table, columns: two }, numbered(3))
  })

  /** As a large source is loaded: over two connections, not frozen. */
  async function loadLarge({ attempt = 1, chunks = () => numberedTuples(5), signal = never } = {}) {
    const target = { schema: 'health', table, columns: two, run: word('run'), attempt }
    await using load = await scratch.warehouse.loader.stage(target, signal)
    await load.write(binary(chunks, { size: 1 << 30 }), signal)
    return await scratch.warehouse.loader.publish([load], async () => true, signal)
  }
  const countBy = async (reader: { query(text: string): Promise<{ rows: { count: number }[] }> }) =>
    (await reader.query(`select count(*)::int from health.${table}`)).rows[0]?.count
  const repeatable = async (role: 'load' | 'read') => {
    const reader = await connectedAs(scratch.access, role)
    await reader.query('begin isolation level repeatable read')
    await reader.query('select 1')
    return reader
  }

  it.each(['read', 'load'] as const)(
    'see the old rows, and delay the publication until they end, as role %s',
    async (role) => {
      await using reader = await repeatable(role)
      const publishing = loadLarge()
      await sleep(600)
      expect(await countBy(reader)).toBe(3)
      await reader.query('commit')
      await publishing
      expect(await countBy(reader)).toBe(5)
    },
  )

  it('see the new rows of a frozen load, which does not wait for readers', async () => {
    await using reader = await repeatable('read')
    await loadLarge({ attempt: 2 })
    expect(await countBy(reader)).toBe(5)
  })

  it('make a load that is not frozen fail with a retryable error if they do not end', async () => {
    await using reader = await repeatable('read')
    await expect(loadLarge()).rejects.toMatchObject({
      code: 'WAREHOUSE_BUSY',
      retryable: true,
      message: expect.stringContaining('A reader has been'),
    })
    expect(await countBy(reader)).toBe(3)
  })

  it('do not delay the publication if they hold no snapshot or began after the rows were written', async () => {
    await using idle = await connectedAs(scratch.access, 'read')
    await idle.query('begin')
    await idle.query('select 1')
    const target = { schema: 'health', table, columns: two, run: word('run'), attempt: 1 }
    await using load = await scratch.warehouse.loader.stage(target, never)
    await load.write(
      binary(() => numberedTuples(5), { size: 1 << 30 }),
      never,
    )
    await using late = await repeatable('read')
    const start = performance.now()
    await scratch.warehouse.loader.publish([load], async () => true, never)
    expect(performance.now() - start).toBeLessThan(5_000)
    expect([await countBy(idle), await countBy(late)]).toEqual([5, 5])
  })

  it('do not include other loads that copy, or sessions of other databases', async () => {
    await using other = await scratchWarehouse()
    await using elsewhere = await connectedAs(other.access, 'read')
    await elsewhere.query('begin isolation level repeatable read')
    await elsewhere.query('select 1')
    const end = new AbortController()
    async function* stuck() {
      yield* numberedTuples(1)
      await new Promise(() => {})
    }
    const target = { schema: 'health', table: word('stuck_'), columns: two, run: word('run'), attempt: 1 }
    await using copying = await scratch.warehouse.loader.stage(target, never)
    const writing = copying.write(binary(stuck, { size: 1 << 30 }), end.signal).catch(() => {})
    await sleep(300)
    const start = performance.now()
    await loadLarge()
    expect(performance.now() - start).toBeLessThan(5_000)
    end.abort()
    await writing
  })

  it('do not delay the cancellation of a load', async () => {
    await using reader = await repeatable('read')
    const cancel = new AbortController()
    const publishing = loadLarge({ signal: cancel.signal })
    const refused = expect(publishing).rejects.toThrow('by hand')
    await sleep(500)
    const start = performance.now()
    cancel.abort(new Error('by hand'))
    await refused
    expect(performance.now() - start).toBeLessThan(5_000)
    expect(await countBy(reader)).toBe(3)
  })
})
