import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { outgoingAllowed } from '@sluice/http-client'
import type { ReadRequest } from '../../connector.ts'
import { type RowStream, type RejectedRow, type ReadReporter, TypesWidened } from '@sluice/row-stream'
import type { RecordPage, RecordStream, HttpSystem } from '../http-system.ts'
import { createHttpConnector } from '../http-connector.ts'

const filesDirectory = mkdtempSync(join(tmpdir(), 'sluice-systems-'))
afterAll(() => rmSync(filesDirectory, { recursive: true, force: true }))
const never = new AbortController().signal

const pagesOf = (...pages: RecordPage[]): RecordStream['readPages'] =>
  async function* () {
    yield* pages
  }

const sourceOf = (system: HttpSystem) =>
  createHttpConnector(async () => system, { filesDirectory, allowed: outgoingAllowed().fallback! })
const target: ReadRequest = { type: 'X', settings: { a: 1 }, secrets: {}, input: {}, table: 'target' }

/** A system whose streams are these. */
const systemOf = (streams: RecordStream | RecordStream[]): HttpSystem => ({
  name: 'Example',
  connect: () => ({ url: 'https://example.org' }),
  testConnection: async () => {},
  canReadIncrement: () => true,
  createCursor: (moment) => `at ${moment}`,
  openStreams: async () => streams,
})

/** What it comes to. */
async function read(streams: RecordStream | RecordStream[], asked: Partial<ReadRequest> = {}) {
  const source = sourceOf(systemOf(streams))
  const reading: ReadRequest = { ...target, ...asked }
  const rejected: RejectedRow[] = []
  const messages: string[] = []
  const whole: string[] = []
  const report: ReadReporter = {
    progress: () => {},
    reject: (row) => void rejected.push(row),
    rejectMore: () => {},
    startOver: async () => void (rejected.length = 0),
    log: (_level, _importance, message) => void messages.push(message),
    readsEverything: (why) => void whole.push(why),
  }
  const rowStreams: {
    table: string
    columns: string[]
    key: string[]
    rows: number
    parentRecords: RowStream['parentRecords']
  }[] = []
  let cursor: unknown
  for await (const rowStream of source.read(reading, report, never)) {
    rowStreams.push({ ...described(rowStream), rows: await rowsOf(rowStream) })
    if (rowStream.cursor) cursor = rowStream.cursor()
  }
  return { rowStreams, rejected, messages, whole, cursor: cursor as { at: Record<string, unknown>; tables: string[] } }
}

const described = ({ table, columns, parentRecords }: RowStream) => ({
  table,
  parentRecords,
  columns: columns.map(({ name, dataType }) => `${name} ${dataType}`),
  key: columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name),
})

/** Returns the bytes of all tuples. */
async function rowsOf({ content, columns }: RowStream): Promise<number> {
  let known = columns
  for (;;) {
    try {
      let bytes = 0
      for await (const chunk of content.rows(known)) {
        bytes += chunk.bytes.length
        chunk.release?.()
      }
      return bytes
    } catch (error) {
      if (!(error instanceof TypesWidened)) throw error
      expect(error.columns.map(({ name }) => name)).toEqual(columns.map(({ name }) => name))
      known = error.columns
    }
  }
}

const people = (from: number, count: number) => Array.from({ length: count }, (_, index) => ({ id: from + index }))

describe('readSystem', () => {
  it('fills the own table of the pipeline from one stream, and further tables from several', async () => {
    const stream = (name: string): RecordStream => ({
      name,
      key: ['id'],
      readPages: pagesOf({ records: people(1, 2) }),
    })
    expect((await read(stream('visits'))).rowStreams).toMatchObject([
      { table: '', columns: ['id SMALLINT'], key: ['id'] },
    ])
    const { rowStreams } = await read([stream('Visit 1'), stream('Visit-1'), stream('other')])
    const tables = rowStreams.map(({ table }) => table)
    expect([tables[0], tables[3]]).toEqual(['', 'target__other'])
    expect(tables[1]).toMatch(/^target__visit_1_[0-9a-f]{8}$/)
    expect(tables[2]).toMatch(/^target__visit_1_[0-9a-f]{8}$/)
    expect(new Set(tables).size).toBe(4)
  })

  it('names the tables of groups in a preview', async () => {
    const records = [{ id: 1, visits: [{ day: 1 }] }]
    const source = sourceOf(systemOf({ name: 'cases', key: ['id'], readPages: pagesOf({ records }) }))
    expect((await source.preview!(target, 5, never)).notes.join()).toContain('A load also fills these: …__visits.')
  })

  it('yields to the event loop between records that take long', async () => {
    const records = Array.from({ length: 4 }, (_, id) => ({
      id,
      list: Array.from({ length: 20_000 }, () => ({ a: 1 })),
    }))
    let [turns, between] = [0, 0]
    let over = false
    const turn = () => {
      turns += 1
      if (!over) setImmediate(turn)
    }
    async function* pages(): AsyncGenerator<RecordPage> {
      setImmediate(turn)
      turns = 0
      yield { records }
      over = true
      between = turns
    }
    await read({ name: 'visits', key: ['id'], readPages: pages })
    expect(between).toBeGreaterThan(0)
  })

  it('loads a repeated record once, and starts the next read before it', async () => {
    const pages = pagesOf(
      { records: people(1, 3), cursor: 'first' },
      { records: people(3, 3), cursor: 'second' },
      { records: people(6, 1), cursor: 'third' },
    )
    const { rowStreams, cursor, messages, rejected } = await read({ name: 'people', key: ['id'], readPages: pages })
    expect(messages).toContain('The source returned 1 record of target more than once. Each was loaded once.')
    expect(rejected).toEqual([])
    // Six tuples: the number of columns, a length, and the two bytes of a small number.
    expect(rowStreams[0]!.rows).toBe(6 * 8)
    expect(cursor.at).toEqual({ people: 'first' })
  })

  it('rejects a record with the key of another one', async () => {
    const records = [
      { id: 1, name: 'Ann' },
      { id: 1, name: 'Ben' },
      { id: 2, name: 'Cid' },
    ]
    const { rowStreams, rejected } = await read({ name: 'people', key: ['id'], readPages: pagesOf({ records }) })
    expect(rejected).toEqual([
      {
        line: 2,
        reason: 'has the same key (id) as an earlier record of target; only the first one was loaded',
        raw: '{"id":1,"name":"Ben"}',
      },
    ])
    expect(rowStreams[0]!.rows).toBe(2 * 15)
  })

  it('reads everything once if an earlier version stored the cursor, or if the cursor was reset', async () => {
    const asked: unknown[] = []
    const stream: RecordStream = {
      name: 'people',
      key: ['id'],
      async *readPages(from) {
        asked.push(from)
        yield { records: people(1, 1), cursor: 'kept' }
      },
    }
    const { cursor } = await read(stream)
    const old = await read(stream, { mode: 'INCREMENTAL', cursor: { ...cursor, version: 1 } })
    expect(old.whole).toEqual([expect.stringContaining('all records are read once')])
    const reset = await read(stream, { mode: 'INCREMENTAL', cursor, reset: {} })
    expect(reset.whole).toEqual(['All records are read, because the cursor was reset.'])
    const from = '2026-03-01T00:00:00.000Z'
    const at = await read(stream, { mode: 'INCREMENTAL', cursor, reset: { from } })
    expect([at.whole, at.messages]).toEqual([[], expect.arrayContaining([`The cursor was reset to ${from}.`])])
    expect(asked).toEqual([undefined, undefined, undefined, `at ${from}`])
  })

  it('continues from its cursor while the settings are the same, and reports if they changed', async () => {
    const asked: unknown[] = []
    const stream: RecordStream = {
      name: 'people',
      key: ['id'],
      async *readPages(from) {
        asked.push(from)
        yield { records: people(1, 1), cursor: 'kept' }
      },
    }
    const { cursor } = await read(stream)
    await read(stream, { mode: 'INCREMENTAL', cursor })
    const other = await read(stream, { mode: 'INCREMENTAL', cursor, settings: { a: 2 } })
    const first = await read(stream, { mode: 'INCREMENTAL' })
    await read(stream, { mode: 'FULL', cursor })
    expect(asked).toEqual([undefined, 'kept', undefined, undefined, undefined])
    expect(other.whole.join()).toContain('the settings of the pipeline changed')
    expect(first.whole.join()).toContain('no earlier load stored a cursor')
  })

  it('empties the tables of groups without rows in a full read, and yields them in an increment', async () => {
    const stream = (records: object[]): RecordStream => ({
      name: 'people',
      key: ['id'],
      readPages: pagesOf({ records }),
    })
    const { cursor } = await read(stream([{ id: 1, pet: [{ name: 'Rex' }] }]))
    expect(cursor.tables).toEqual(['target', 'target__pet'])
    const full = await read(stream([{ id: 1 }]), { cursor })
    expect(full.rowStreams.map(({ table, rows }) => [table, rows])).toEqual([
      ['', 8],
      ['target__pet', 0],
    ])
    const more = await read(stream([{ id: 1 }]), { mode: 'INCREMENTAL', cursor })
    expect(
      more.rowStreams.map(({ table, columns, rows, parentRecords }) => [table, columns, rows, parentRecords]),
    ).toEqual([
      ['', ['id SMALLINT'], 8, undefined],
      ['target__pet', ['_row_id TEXT'], 0, { table: '', keys: ['id'], column: '_root_row_id' }],
    ])
    expect(more.cursor.tables).toEqual(cursor.tables)
    const merged = await read(stream([{ id: 1 }]), { writeMode: 'MERGE', cursor })
    expect(merged.rowStreams.map(({ table, rows, parentRecords }) => [table, rows, parentRecords])).toEqual([
      ['', 8, undefined],
      ['target__pet', 0, { table: '', keys: ['id'], column: '_root_row_id' }],
    ])
  })

  it('rejects values that are not records, have no key, or do not match the type of a known column', async () => {
    const records = [7, null, { name: 'nobody' }, { id: 1, age: 'old' }, ...people(2, 200)]
    const columns = [{ path: 'age', dataType: 'INTEGER' as const }]
    const { rejected, rowStreams } = await read({
      name: 'people',
      key: ['id'],
      columns,
      readPages: pagesOf({ records }),
    })
    expect(rejected.map(({ line, column, reason }) => [line, column, reason])).toEqual([
      [1, undefined, expect.stringContaining('not a JSON object')],
      [2, undefined, expect.stringContaining('not a JSON object')],
      [3, 'id', expect.stringContaining('no value')],
      [expect.any(Number), 'age', expect.any(String)],
    ])
    expect(rowStreams[0]!.rows).toBe(200 * 12)
  })

  it('fails if the source has no records and no known columns', async () => {
    const nothing = read({ name: 'people', key: [], readPages: pagesOf({ records: [] }) })
    await expect(nothing).rejects.toMatchObject({ code: 'EMPTY_SOURCE' })
  })

  it('empties a table with known columns when the source has no records, but not when all records were rejected', async () => {
    const previousShape: ReadRequest['previousShape'] = {
      columns: [
        { name: 'id', label: 'id', dataType: 'SMALLINT' },
        { name: 'day', label: 'Day', dataType: 'DATE' },
        { name: 'old', label: 'old', dataType: 'TEXT', vanished: true },
      ],
    }
    const of = (key: string[], records: unknown[]): RecordStream => ({
      name: 'people',
      key,
      readPages: pagesOf({ records }),
    })
    expect((await read(of([], []), { previousShape })).rowStreams).toMatchObject([
      { table: '', columns: ['id SMALLINT', 'day DATE'], key: [], rows: 0 },
    ])
    expect((await read(of(['id'], []), { previousShape })).rowStreams).toMatchObject([
      { columns: ['id TEXT', 'day DATE'], key: ['id'], rows: 0 },
    ])
    await expect(read(of([], [7]), { previousShape })).rejects.toMatchObject({ code: 'EMPTY_SOURCE' })
  })

  it('reads dates in the order of the last load, and fails for another order', async () => {
    const previousShape: ReadRequest['previousShape'] = {
      columns: [{ name: 'seen_on', label: 'Seen on', dataType: 'DATE', dayFirst: true }],
    }
    const columns = [{ path: 'seen/on', label: 'Seen on' }]
    const of = (...days: string[]): RecordStream => ({
      name: 'p',
      key: ['id'],
      columns,
      inferStrings: true,
      readPages: pagesOf({ records: days.map((on, id) => ({ id, seen: { on } })) }),
    })
    expect((await read(of('01/02/2026'))).rowStreams[0]!.columns).toEqual(['id SMALLINT', 'seen_on TEXT'])
    expect((await read(of('01/02/2026'), { previousShape })).rowStreams[0]!.columns).toEqual([
      'id SMALLINT',
      'seen_on DATE',
    ])
    await expect(read(of('01/31/2026'), { previousShape })).rejects.toMatchObject({ code: 'DATE_ORDER_CHANGED' })
  })

  it('infers types from texts, except for known columns', async () => {
    const records = [{ id: '1', age: '34', day: '2026-01-05', code: '007', zone: '7' }]
    const columns = [{ path: 'zone', dataType: 'TEXT' as const }]
    const stream: RecordStream = { name: 'p', key: ['id'], columns, readPages: pagesOf({ records }) }
    const anything = await read({ ...stream, inferStrings: true })
    expect(anything.rowStreams[0]!.columns).toEqual([
      'id SMALLINT',
      'age SMALLINT',
      'day DATE',
      'code TEXT',
      'zone TEXT',
    ])
    expect((await read(stream)).rowStreams[0]!.columns).toEqual([
      'id TEXT',
      'age TEXT',
      'day DATE',
      'code TEXT',
      'zone TEXT',
    ])
  })
})
