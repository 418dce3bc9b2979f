import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { leftovers } from '../test/find-leftover-tables.ts'
import { columns, given, never, numbered } from '../test/row-fixtures.ts'
import { connected, scratchWarehouseForAll, superuserUrl, word } from '../test/scratch-warehouse.ts'
import { binary, numberedTuples, tuple } from '../test/copy-tuples.ts'
import { type RowContent, type RowsProfile, type RowStream, TypesWidened } from '@sluice/row-stream'
import { LeaseLost } from './warehouse.ts'
import { type LoadJob, loadRowStreams, LoadProblem } from './load-row-streams.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })

function rowStream(rows: Parameters<typeof given>[0], table = ''): RowStream {
  return { table, columns: two, content: given(rows) }
}

async function* rowStreams(...all: RowStream[]): AsyncGenerator<RowStream> {
  yield* all
}

describe('loadRowStreams', () => {
  const scratch = scratchWarehouseForAll()
  let table: string
  let job: Omit<LoadJob, 'rowStreams'>

  beforeEach(() => {
    table = word('cases_')
    job = {
      warehouse: scratch.warehouse,
      target: { schema: 'health', table },
      run: word('run'),
      attempt: 1,
      isCurrentAttempt: async () => true,
      signal: never,
      rejected: () => ({ count: 0 }),
    }
  })

  const rowsOf = async (name = table) => (await scratch.warehouse.catalog.findTable('health', name))?.rowCount
  const left = async () => (await leftovers(scratch.superuser)).length

  it('loads one row stream into the target table, and a new run replaces the rows', async () => {
    expect(await loadRowStreams({ ...job, rowStreams: rowStreams(rowStream(numbered(200_000))) })).toEqual([
      { schema: 'health', table, rows: 200_000, bytes: 3_000_000, changes: [] },
    ])
    await loadRowStreams({ ...job, run: word('run'), rowStreams: rowStreams(rowStream([])) })
    expect([await rowsOf(), await left()]).toEqual([0, 0])
  })

  it('loads each row stream into its own table, and rejects two row streams with the same table', async () => {
    const other = word('other_')
    const loaded = await loadRowStreams({
      ...job,
      rowStreams: rowStreams(rowStream(numbered(1), other), rowStream(numbered(2))),
    })
    expect(loaded.map((each) => [each.table, each.rows])).toEqual([
      [table, 2],
      [other, 1],
    ])
    await expect(
      loadRowStreams({ ...job, run: word('run'), rowStreams: rowStreams(rowStream([], other), rowStream([], other)) }),
    ).rejects.toMatchObject({ code: 'DUPLICATE_TABLE' })
    expect([await rowsOf(), await rowsOf(other), await left()]).toEqual([2, 1, 0])
  })

  it('cuts column labels to 1,000 characters', async () => {
    const [id, name] = two
    const wide = [id!, { ...name!, label: 'x'.repeat(100_000) }]
    await loadRowStreams({ ...job, rowStreams: rowStreams({ table, columns: wide, content: given(numbered(1)) }) })
    const found = await scratch.warehouse.catalog.findTable('health', table)
    expect(found!.columns.map(({ label }) => label.length)).toEqual([2, 1_000])
  })

  it('returns the publication of a run that was published before', async () => {
    const first = await loadRowStreams({ ...job, rowStreams: rowStreams(rowStream(numbered(3))) })
    expect(await loadRowStreams({ ...job, attempt: 2, rowStreams: rowStreams(rowStream(numbered(4))) })).toEqual(first)
    expect([await rowsOf(), await left()]).toEqual([3, 0])
  })

  it.each([
    [99, 1, 'loads'],
    [100, 1, 'loads'],
    [98, 2, 'fails'],
    [50, 49, 'loads'],
    [0, 5, 'fails'],
    [0, 0, 'loads'],
    [10_000, 101, 'loads'],
    [10_000, 102, 'fails'],
  ])('with %i valid rows and %i rejected rows %s', async (good, bad, outcome) => {
    await loadRowStreams({ ...job, rowStreams: rowStreams(rowStream(numbered(7))) })
    const loading = loadRowStreams({
      ...job,
      run: word('run'),
      rejected: () => ({ count: bad, first: 'line 7: too odd' }),
      rowStreams: rowStreams(rowStream(numbered(good))),
    })
    if (outcome === 'fails')
      await expect(loading).rejects.toMatchObject({
        code: 'TOO_MANY_REJECTED_ROWS',
        message: expect.stringContaining(`${bad} of ${good + bad} rows`),
      })
    else await loading
    expect([await rowsOf(), await left()]).toEqual([outcome === 'fails' ? 7 : good, 0])
  })

  it('fails after 20 reads if the types change on every read, and names the columns', async () => {
    await loadRowStreams({ ...job, rowStreams: rowStreams(rowStream(numbered(7))) })
    let reads = 0
    const swinging: RowStream = {
      table: '',
      columns: two,
      content: {
        format: 'copy-binary',
        // eslint-disable-next-line require-yield
        rows: async function* () {
          reads += 1
          throw new TypesWidened(columns({ id: reads % 2 === 0 ? 'INTEGER' : 'TEXT', name: 'TEXT' }))
        },
      },
    }
    await expect(loadRowStreams({ ...job, run: word('run'), rowStreams: rowStreams(swinging) })).rejects.toMatchObject({
      code: 'TYPES_NOT_SETTLED',
      message: expect.stringContaining('"id"'),
    })
    expect([reads, await rowsOf(), await left()]).toEqual([20, 7, 0])
  })

  it('keeps the old rows and drops the staging table if the lease is lost, the source fails or the load is aborted', async () => {
    await loadRowStreams({ ...job, rowStreams: rowStreams(rowStream(numbered(7))) })
    const again = { ...job, run: word('run') }
    await expect(
      loadRowStreams({ ...again, isCurrentAttempt: async () => false, rowStreams: rowStreams(rowStream(numbered(1))) }),
    ).rejects.toBeInstanceOf(LeaseLost)
    const failure = new Error('the file ended early')
    async function* truncateAfter() {
      yield* numberedTuples(10)
      throw failure
    }
    await expect(
      loadRowStreams({ ...again, rowStreams: rowStreams({ ...rowStream([]), content: binary(truncateAfter) }) }),
    ).rejects.toBe(failure)
    const cancel = new AbortController()
    async function* cancelling() {
      yield* numberedTuples(10)
      cancel.abort(new Error('cancelled'))
      yield* numberedTuples(10)
    }
    await expect(
      loadRowStreams({
        ...again,
        signal: cancel.signal,
        rowStreams: rowStreams({ ...rowStream([]), content: binary(cancelling) }),
      }),
    ).rejects.toThrow('cancelled')
    expect([await rowsOf(), await left(), await scratch.warehouse.loader.findPublication(again.run)]).toEqual([
      7,
      0,
      undefined,
    ])
  })

  it('continues with wider types while a reader locks the staging table with the narrower types', async () => {
    await using reader = await connected(superuserUrl(scratch.access.database))
    const offered: string[] = []
    const content: RowContent = {
      format: 'copy-binary',
      // A load of this size is not frozen, so its staging table can be read during the load.
      size: 1 << 30,
      async *rows([id]) {
        offered.push(id!.dataType)
        if (offered.length === 1) {
          const { rows } = await reader.query(`select relname from pg_class where relname like 'run\\_${job.run}\\_%'`)
          await reader.query(`begin; lock table sluice."${rows[0].relname}" in access share mode`)
          throw new TypesWidened(columns({ id: 'TEXT', name: 'TEXT' }))
        }
        yield { bytes: tuple(['one', 'a']) }
      },
    }
    await loadRowStreams({ ...job, rowStreams: rowStreams({ table: '', columns: two, content }) })
    expect([offered, await rowsOf(), await left()]).toEqual([['INTEGER', 'TEXT'], 1, 1])
    await reader.query('rollback')
    expect(await scratch.warehouse.upkeep.sweepStaging(async () => new Set([job.run]))).toBe(0)
    expect(await scratch.warehouse.upkeep.sweepStaging(async () => new Set())).toBe(1)
    expect([await rowsOf(), await left()]).toEqual([1, 0])
  })

  it('calls onReplace and replaces the table if an increment turns out to be a full load', async () => {
    const replaced: number[] = []
    const load = (rows: number, whole: boolean) =>
      loadRowStreams({
        ...job,
        run: word('run'),
        mode: 'MERGE',
        onReplace: () => replaced.push(rows),
        rowStreams: rowStreams({
          ...rowStream(numbered(rows)),
          columns: two.map((column) => ({ ...column, primaryKey: column.name === 'id' })),
          whole: () => whole,
        }),
      })
    await load(3, false)
    await load(0, false)
    expect([await rowsOf(), replaced]).toEqual([3, []])
    await load(0, true)
    expect([await rowsOf(), replaced]).toEqual([0, [0]])
  })

  it('transforms and merges rows and stores the cursor, unless the gate refuses the rows', async () => {
    const keyed = two.map((column) => ({ ...column, primaryKey: column.name === 'id' }))
    const increment = (from: number, cursor: unknown): RowStream => ({
      table: '',
      columns: keyed,
      content: binary(() => numberedTuples(3, `from ${from}`)),
      cursor: () => cursor,
    })
    await loadRowStreams({ ...job, mode: 'MERGE', rowStreams: rowStreams(increment(1, { at: 1 })) })
    const transformation = [{ statement: `update ${table} set id = id + 2, name = upper(name)` }]
    const next = { ...job, run: word('run'), mode: 'MERGE' as const, transformation }
    const looked: string[] = []
    const refusing = loadRowStreams({
      ...next,
      rowStreams: rowStreams(increment(2, { at: 2 })),
      async gate([ready]) {
        const { rows } = await scratch.superuser.query(`select max(name) as name from sluice."${ready!.staging}"`)
        looked.push(rows[0].name)
        throw new LoadProblem('REFUSED', 'Too odd.')
      },
    })
    await expect(refusing).rejects.toMatchObject({ code: 'REFUSED' })
    expect([
      looked,
      await rowsOf(),
      (await scratch.warehouse.loader.findLastLoad('health', table)).cursor,
      await left(),
    ]).toEqual([['FROM 2'], 3, { at: 1 }, 0])
    await loadRowStreams({ ...next, attempt: 2, rowStreams: rowStreams(increment(2, { at: 2 })) })
    const { rows } = await scratch.superuser.query(`select id, name from health.${table} order by id`)
    expect(rows.map(({ id, name }) => `${id} ${name}`)).toEqual([
      '1 from 1',
      '2 from 1',
      '3 FROM 2',
      '4 FROM 2',
      '5 FROM 2',
    ])
    expect([await rowsOf(), (await scratch.warehouse.loader.findLastLoad('health', table)).cursor]).toEqual([
      5,
      { at: 2 },
    ])
  })

  it('profiles the published rows: all of them, or those of an increment, and none after a transformation', async () => {
    const keyed = two.map((column) => ({ ...column, primaryKey: column.name === 'id' }))
    const stored: [table: string, RowsProfile][] = []
    const load = (rows: number, more: Partial<LoadJob> = {}) =>
      loadRowStreams({
        ...job,
        run: word('run'),
        rowStreams: rowStreams({ table: '', columns: keyed, content: binary(() => numberedTuples(rows, 'a')) }),
        storeProfile: async (name, profile) => {
          stored.push([name, profile])
          return randomUUID()
        },
        ...more,
      })
    const profile = async () => (await scratch.warehouse.catalog.findTable('health', table))?.profile
    const scope = async () => (await profile())?.scope
    await load(3)
    expect(stored).toEqual([
      [
        table,
        {
          rows: 3,
          columns: [
            expect.objectContaining({ column: 'id', nulls: 0, distinct: 3, min: '1', max: '3' }),
            expect.objectContaining({ column: 'name', nulls: 0, distinct: 1, min: 'a', max: 'a', minLength: 1 }),
          ],
        },
      ],
    ])
    expect(await scope()).toBe('TABLE')
    await load(2, { mode: 'MERGE' })
    expect([await scope(), stored.at(-1)![1].rows]).toEqual(['LOAD', 2])
    const afterIncrement = await profile()
    await load(0, { mode: 'MERGE' })
    expect([await profile(), stored.length]).toEqual([afterIncrement, 2])
    await load(2, { storeProfile: async () => undefined })
    expect(await scope()).toBeUndefined()
    await load(2, { transformation: [{ statement: `update ${table} set name = 'b'` }] })
    expect([await scope(), stored.length]).toEqual([undefined, 2])
  })

  it('stores no profile of an increment if the merge can delete rows, but one of all rows', async () => {
    const marked = columns({ id: 'INTEGER', gone: 'DATE' }).map((column) => ({
      ...column,
      primaryKey: column.name === 'id',
    }))
    const stored: string[] = []
    const load = (rows: [number, string | null][], mode: 'REPLACE' | 'MERGE') =>
      loadRowStreams({
        ...job,
        run: word('run'),
        mode,
        rowStreams: rowStreams({ table: '', columns: marked, content: given(rows), deletedColumn: 'gone' }),
        storeProfile: async (name) => {
          stored.push(name)
          return randomUUID()
        },
      })
    const profile = async () => (await scratch.warehouse.catalog.findTable('health', table))?.profile
    await load([[1, null]], 'REPLACE')
    const ofAll = await profile()
    expect(ofAll?.scope).toBe('TABLE')
    await load([], 'MERGE')
    expect(await profile()).toEqual(ofAll)
    await load([[2, '2024-01-01']], 'MERGE')
    expect([await profile(), stored]).toEqual([undefined, [table]])
  })

  it('replaces the profile of parts if an increment deletes parts and brings none', async () => {
    const keyed = (types: Record<string, string>, ...keys: string[]) =>
      columns(types).map((column) => ({ ...column, primaryKey: keys.includes(column.name) }))
    const parts = `${table}__visits`
    const stored: [string, number][] = []
    const load = (visits: [number, number][], mode: 'REPLACE' | 'MERGE') =>
      loadRowStreams({
        ...job,
        run: word('run'),
        mode,
        rowStreams: rowStreams(
          { table: '', columns: keyed({ id: 'INTEGER' }, 'id'), content: given([[1]]) },
          {
            table: parts,
            columns: keyed({ id: 'INTEGER', case_id: 'INTEGER' }, 'id'),
            content: given(visits),
            parentRecords: { table: '', keys: ['id'], column: 'case_id' },
          },
        ),
        storeProfile: async (name, { rows }) => {
          stored.push([name, rows])
          return randomUUID()
        },
      })
    await load([[7, 1]], 'REPLACE')
    await load([], 'MERGE')
    expect(await rowsOf(parts)).toBe(0)
    expect(stored.at(-1)).toEqual([parts, 0])
    expect((await scratch.warehouse.catalog.findTable('health', parts))?.profile?.scope).toBe('LOAD')
  })
})
