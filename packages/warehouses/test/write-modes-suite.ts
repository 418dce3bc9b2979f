import { randomUUID } from 'node:crypto'
import { expect, it } from '@jest/globals'
import type { WriteMode } from '@sluice/contracts'
import type { RowStream } from '@sluice/row-stream'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { type LoadJob, type LoadedTable, loadRowStreams } from '../src/load-row-streams.ts'
import type { MergedRows, Warehouse } from '../src/warehouse.ts'
import { columns, given, never } from './row-fixtures.ts'
import { type Given, rowsIn } from './warehouse-under-test.ts'

type Cell = string | null
interface Row {
  id: string
  a: Cell
  b: Cell
}
interface Load {
  step: WriteMode
  /** The columns of the load besides the id, and the type of `a`. */
  names: ('a' | 'b')[]
  type: 'INTEGER' | 'TEXT'
  rows: readonly Row[]
  /** Whether a second attempt at the run follows. */
  retried: boolean
}
type Step = Load | { step: 'RESTORE' }

/** The rows of a table and of the version before it, in memory. */
interface Model {
  rows: readonly Row[]
  before: readonly Row[] | undefined
}

/** Returns the rows after a load; undefined if the load is refused, because several rows would have the same key. */
function rowsAfter(rows: readonly Row[], { step, names, rows: sent }: Load): readonly Row[] | undefined {
  const loaded = sent.map((row): Row => ({ id: row.id, a: null, b: null, ...pick(row, names) }))
  if (step === 'REPLACE') return loaded
  if (step === 'APPEND') return [...rows, ...loaded]
  const ids = new Set(loaded.map(({ id }) => id))
  const merged = [...rows.filter(({ id }) => !ids.has(id)), ...loaded]
  return new Set(merged.map(({ id }) => id)).size === merged.length ? merged : undefined
}

const pick = (row: Row, names: readonly ('a' | 'b')[]) => Object.fromEntries(names.map((name) => [name, row[name]]))
const inOrder = (rows: readonly Row[]): string[] => rows.map(({ id, a, b }) => JSON.stringify([id, a, b])).toSorted()

/** Returns how a load changes rows; undefined if it replaces all of them. */
function countMerged(model: Model | undefined, { step, names, rows }: Load): MergedRows | undefined {
  if (step === 'REPLACE') return undefined
  if (step === 'APPEND' || !model) return { added: rows.length, changed: 0, removed: 0 }
  const loaded = new Map(
    rows.map((row) => [row.id, inOrder([{ id: row.id, a: null, b: null, ...pick(row, names) }])[0]]),
  )
  const matching = model.rows.filter(({ id }) => loaded.has(id))
  const ids = new Set(matching.map(({ id }) => id))
  const equal = new Set(matching.filter((row) => inOrder([row])[0] === loaded.get(row.id)).map(({ id }) => id))
  // One of several rows with the same key stays or changes. The others are removed.
  return { added: rows.length - ids.size, changed: ids.size - equal.size, removed: matching.length - ids.size }
}

const digit = fc.constantFrom(null, '1', '2')
const row = fc.record({ id: fc.constantFrom('1', '2', '3', '4'), a: digit, b: digit })
const load = fc.record({
  step: fc.constantFrom<WriteMode>('REPLACE', 'APPEND', 'APPEND', 'MERGE', 'MERGE'),
  names: fc.constantFrom<('a' | 'b')[]>(['a'], ['b'], ['a', 'b']),
  type: fc.constantFrom<Load['type']>('INTEGER', 'TEXT'),
  rows: fc.array(row, { maxLength: 4 }),
  retried: fc.boolean(),
})
const step = fc.oneof(
  { arbitrary: load, weight: 4 },
  { arbitrary: fc.constant({ step: 'RESTORE' as const }), weight: 1 },
)

const rowStreamOf = ({ names, type, rows }: Load): RowStream => {
  const types = { id: 'INTEGER', ...Object.fromEntries(names.map((name) => [name, name === 'a' ? type : 'TEXT'])) }
  const shown = rows.map((one) => [one.id, ...names.map((name) => one[name])])
  return { table: '', columns: columns(types), content: given(shown) }
}

async function* only(...rowStreams: RowStream[]): AsyncGenerator<RowStream> {
  yield* rowStreams
}

/** A merge that replaces several rows with the same key. */
const mergeOverDuplicates: Load[] = (['REPLACE', 'MERGE'] as const).map((mode) => ({
  step: mode,
  names: ['a'],
  type: 'INTEGER',
  rows: (mode === 'REPLACE' ? ['4', '1', '4'] : ['4', '2']).map((id) => ({ id, a: '1', b: null })),
  retried: false,
}))

/**
 * A table equals an independent model in memory after any sequence of loads in any mode, each of which takes effect
 * once.
 */
export function lawOfWriteModes(subject: Given): void {
  it('equals a model in memory after random loads that replace, append and merge, and restores', async () => {
    const { warehouse } = subject
    const hasUndo = await warehouse.loader.findPrevious('health', 'no_table').then(
      () => true,
      () => false,
    )
    let round = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 2, maxLength: 6 }),
        fc.boolean(),
        async (steps: readonly Step[], keepsPrevious) => {
          round += 1
          const table = `written_${round}`
          let model: Model | undefined
          for (const one of steps) {
            // Without `keepsPrevious`, some warehouses change the rows in place, so a restore goes further back.
            if (one.step === 'RESTORE')
              model = hasUndo && keepsPrevious ? await restore(warehouse, table, model) : model
            else model = await loadAndCompare(warehouse, table, model, one, { keepsPrevious, counts: hasUndo })
            if (model) expect(await readRows(warehouse, table)).toEqual(inOrder(model.rows))
            if (model) expect((await warehouse.catalog.findTable('health', table))?.rowCount).toBe(model.rows.length)
          }
        },
      ),
      {
        examples: [[mergeOverDuplicates, false]],
        numRuns: drawCount({ short: 5, long: 150 }),
        endOnFailure: true,
      },
    )
  })
}

async function loadAndCompare(
  warehouse: Warehouse,
  table: string,
  model: Model | undefined,
  one: Load,
  { keepsPrevious, counts }: { keepsPrevious: boolean; counts: boolean },
): Promise<Model | undefined> {
  const after = rowsAfter(model?.rows ?? [], one)
  const shapeBefore = await describeShape(warehouse, table)
  const run = randomUUID()
  const shown: string[][] = []
  const job = (attempt: number): LoadJob => ({
    warehouse,
    rowStreams: only(rowStreamOf(one)),
    target: { schema: 'health', table },
    run,
    attempt,
    mode: one.step,
    keepsPrevious,
    mergeKey: one.step === 'MERGE' ? ['id'] : undefined,
    shape: { hasAllColumns: true },
    isCurrentAttempt: async () => true,
    signal: never,
    rejected: () => ({ count: 0 }),
    async gate(tables, signal) {
      await using preview = await warehouse.loader.exposeStagedRows(tables, { run, attempt })
      const query = { text: `select * from ${table}`, schemas: [preview.schema], limit: 100, offset: 0 }
      const { columns: names, rows } = await warehouse.queries.query(query, signal)
      shown.push(inOrder(rows.map((cells) => toRow(names, cells))))
    },
  })
  const loaded = await loadRowStreams(job(1)).catch((error: unknown) => error)
  if (!after) {
    expect(loaded).toMatchObject({ code: 'DUPLICATE_KEY' })
    return model
  }
  const rowCounts = { rowsBefore: model?.rows.length, merged: counts ? countMerged(model, one) : undefined }
  expect(loaded).toEqual([expect.objectContaining({ table, rows: one.rows.length })])
  const [{ rowsBefore, merged }] = loaded as [LoadedTable]
  expect({ rowsBefore, merged }).toEqual(rowCounts)
  expect(shown).toEqual([inOrder(after)])
  if (one.retried) expect(await loadRowStreams(job(2))).toEqual(loaded)
  // A load that changes nothing is not what a restore undoes.
  const isUnchanged =
    one.step !== 'REPLACE' && JSON.stringify(inOrder(after)) === JSON.stringify(inOrder(model?.rows ?? []))
  if (model && isUnchanged && shapeBefore === (await describeShape(warehouse, table))) return model
  return { rows: after, before: model?.rows }
}

async function describeShape(warehouse: Warehouse, table: string): Promise<string> {
  const { columns: shown = [] } = (await warehouse.catalog.findTable('health', table)) ?? {}
  return JSON.stringify(shown.map(({ name, dataType, primaryKey }) => [name, dataType, primaryKey]))
}

async function restore(warehouse: Warehouse, table: string, model: Model | undefined): Promise<Model | undefined> {
  const target = { schema: 'health', table, run: randomUUID(), attempt: 1 }
  const restored = await warehouse.loader.restore(target, async () => true, never).catch((error: unknown) => error)
  if (!model?.before) {
    expect(restored).toMatchObject({ code: 'NOTHING_TO_RESTORE' })
    return model
  }
  expect(restored).toMatchObject({ rows: model.before.length })
  return { rows: model.before, before: model.rows }
}

const toRow = (names: readonly { name: string }[], cells: readonly unknown[]): Row => {
  const cell = (name: string): Cell => {
    const value = cells[names.findIndex((column) => column.name === name)]
    return value === null || value === undefined ? null : JSON.stringify(value).replaceAll('"', '')
  }
  return { id: cell('id')!, a: cell('a'), b: cell('b') }
}

async function readRows(warehouse: Warehouse, table: string): Promise<string[]> {
  const names = (await warehouse.catalog.findTable('health', table))!.columns
  return inOrder((await rowsIn(warehouse, table)).map((cells) => toRow(names, cells)))
}

/** A merge that changes no row of any table of its run does not use up the undo of the run before it. */
export function keepsUndoOfUnchangedMerges(subject: Given): void {
  it('restores the rows before the last merge that changed some, in all tables of its run', async () => {
    const { warehouse } = subject
    const merge = async (rows: Record<string, [string, string][]>) => {
      const rowStreams = Object.entries(rows).map(([table, cells]): RowStream => {
        const keyed = columns({ id: 'TEXT', a: 'TEXT' }).map((one) => ({ ...one, primaryKey: one.name === 'id' }))
        return { table, columns: keyed, content: given(cells), cursor: () => ({ loads: (loads += 1) }) }
      })
      return loadRowStreams({
        warehouse,
        rowStreams: only(...rowStreams),
        target: { schema: 'health', table: 'calm' },
        run: randomUUID(),
        attempt: 1,
        mode: 'MERGE',
        keepsPrevious: true,
        isCurrentAttempt: async () => true,
        signal: never,
        rejected: () => ({ count: 0 }),
      })
    }
    let loads = 0
    const rows = async () => [await rowsIn(warehouse, 'calm'), await rowsIn(warehouse, 'calm__part')]
    const first = { calm: [['1', 'x'] as [string, string]], calm__part: [['7', 'p'] as [string, string]] }
    await merge(first)
    const before = await rows()
    await merge({ ...first, calm__part: [['7', 'q']] })
    const counts = (await merge({ ...first, calm__part: [['7', 'q']] })).map(({ merged }) => merged)
    expect(counts).toEqual([1, 2].map(() => ({ added: 0, changed: 0, removed: 0 })))
    await merge({ calm: [['1', 'x']] })
    expect((await warehouse.loader.findLastLoad('health', 'calm')).cursor as object).toEqual({ loads })
    const target = { schema: 'health', table: 'calm', run: randomUUID(), attempt: 1 }
    await warehouse.loader.restore(target, async () => true, never)
    expect(await rows()).toEqual(before)
    await warehouse.loader.restore({ ...target, run: randomUUID() }, async () => true, never)
    expect(await rows()).toEqual([before[0], [['7', 'q']]])
  })
}

/** Rows with the same key are loaded once, if a column of the source says which of them is the last. */
export function keepsRowsThatTakePrecedence(subject: Given): void {
  it('publishes the last of several rows with the same key, and refuses two that are equally late', async () => {
    const { warehouse } = subject
    const shape = columns({ id: 'TEXT', day: 'INTEGER', part: 'TEXT', note: 'TEXT' })
    let superseded = 0
    const merge = (rows: [string, number, string, string | null][]) =>
      loadRowStreams({
        warehouse,
        rowStreams: only({ table: '', columns: shape, content: given(rows), precedence: ['day', 'part'] }),
        target: { schema: 'health', table: 'ranked' },
        run: randomUUID(),
        attempt: 1,
        mode: 'MERGE',
        mergeKey: ['id'],
        shape: { hasAllColumns: true },
        onSuperseded: (count) => void (superseded += count),
        isCurrentAttempt: async () => true,
        signal: never,
        rejected: () => ({ count: 0 }),
      })
    const shown = async () => (await rowsIn(warehouse, 'ranked')).map((row) => JSON.stringify(row)).toSorted()
    await merge([
      ['1', 1, 'b', 'x'],
      ['1', 2, 'a', null],
      ['1', 2, 'B', 'y'],
      ['2', 1, 'a', 'z'],
    ])
    expect(await shown()).toEqual(['["1",2,"a",null]', '["2",1,"a","z"]'])
    expect(superseded).toBe(2)
    const twice: [string, number, string, string][] = [
      ['3', 2, 'a', 'x'],
      ['3', 2, 'a', 'y'],
    ]
    await expect(merge(twice)).rejects.toMatchObject({
      code: 'DUPLICATE_KEY',
      key: { keys: ['id'], values: ['3'], rows: 2 },
      precedence: new Map([
        ['day', '2'],
        ['part', 'a'],
      ]),
    })
    await merge([
      ['2', 3, 'a', 'x'],
      ['2', 4, 'a', 'y'],
    ])
    expect(await shown()).toEqual(['["1",2,"a",null]', '["2",4,"a","y"]'])
    expect((await warehouse.catalog.findTable('health', 'ranked'))?.rowCount).toBe(2)
  })
}

/** Appended rows replace those of the same part of the source, such as an object that changed. */
export function appendsPartsOnce(subject: Given): void {
  it('appends the rows of a changed part of the source in place of its earlier rows', async () => {
    const { warehouse } = subject
    const append = async (rows: [string, number][], { replaces = false, keepsPrevious = true } = {}) => {
      const content = given(rows)
      const part = { table: '', columns: columns({ part: 'TEXT', n: 'INTEGER' }), content }
      await loadRowStreams({
        warehouse,
        rowStreams: only({ ...part, ...(replaces && { replaceByColumn: 'part' }) }),
        target: { schema: 'health', table: 'parted' },
        run: randomUUID(),
        attempt: 1,
        mode: 'APPEND',
        keepsPrevious,
        isCurrentAttempt: async () => true,
        signal: never,
        rejected: () => ({ count: 0 }),
      })
      const shown = await rowsIn(warehouse, 'parted')
      return shown.map(([name, n]) => `${name as string}${n as number}`).toSorted()
    }
    expect(
      await append([
        ['a', 1],
        ['a', 2],
      ]),
    ).toEqual(['a1', 'a2'])
    expect(await append([['b', 1]])).toEqual(['a1', 'a2', 'b1'])
    expect(
      await append(
        [
          ['a', 3],
          ['c', 1],
        ],
        { replaces: true },
      ),
    ).toEqual(['a3', 'b1', 'c1'])
    expect(
      await append(
        [
          ['b', 4],
          ['b', 5],
        ],
        { replaces: true, keepsPrevious: false },
      ),
    ).toEqual(['a3', 'b4', 'b5', 'c1'])
  })

  it('refuses rows that replace those of a part if the column of the part is not loaded', async () => {
    const { warehouse } = subject
    const append = (types: Record<string, string>, cells: (string | number)[], replaceByColumn?: string) =>
      loadRowStreams({
        warehouse,
        rowStreams: only({
          table: '',
          columns: columns(types),
          content: given([cells]),
          ...(replaceByColumn && { replaceByColumn }),
        }),
        target: { schema: 'health', table: 'partless' },
        run: randomUUID(),
        attempt: 1,
        mode: 'APPEND',
        shape: { schemaChanges: 'IGNORE_NEW', hasAllColumns: true },
        isCurrentAttempt: async () => true,
        signal: never,
        rejected: () => ({ count: 0 }),
      })
    await append({ n: 'INTEGER' }, [1])
    await append({ n: 'INTEGER', part: 'TEXT' }, [2, 'a'])
    await expect(append({ n: 'INTEGER', part: 'TEXT' }, [3, 'a'], 'part')).rejects.toMatchObject({
      code: 'PART_COLUMN_MISSING',
      retryable: false,
      message: expect.stringMatching(/no column "part"/),
    })
    expect((await rowsIn(warehouse, 'partless')).toSorted()).toEqual([[1], [2]])
  })
}
