import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Client } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { RowEncoder, TableProfiler, type RowsProfile, type StoredType, TupleBuffer } from '../index.ts'
import { releaseProfilerModule, acquireProfilerModule } from './wasm-profiler.ts'
import { sqlType } from '../../test/sql-type.ts'

type ColumnProfile = RowsProfile['columns'][number]

const few = (...values: string[]) => fc.constantFrom(...values)
const many = <T>(values: fc.Arbitrary<T>) => fc.oneof({ weight: 3, arbitrary: values.map(String) }, few('0', '1'))
const day = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
const isoDay = day.map((date) => date.toISOString().slice(0, 10))
const doubles = fc.oneof(
  fc.double({ noNaN: true }),
  few('NaN', 'Infinity', '-Infinity', '-0', '0', '1e308', '-1e308').map(Number),
)

/** One column of each kind, with the texts of its values. */
const columns: { type: StoredType; values: fc.Arbitrary<string> }[] = [
  { type: { dataType: 'SMALLINT' }, values: many(fc.integer({ min: -32768, max: 32767 })) },
  { type: { dataType: 'INTEGER' }, values: few('7', '-3', '2147483647') },
  { type: { dataType: 'BIGINT' }, values: many(fc.bigInt({ min: -(2n ** 52n), max: 2n ** 52n })) },
  {
    type: { dataType: 'DECIMAL', precision: 10, scale: 3 },
    values: fc.oneof(
      few('0.000', '-0.5', '12.125', 'NaN'),
      fc.integer({ min: -9e8, max: 9e8 }).map((n) => String(n / 1000)),
    ),
  },
  { type: { dataType: 'DOUBLE' }, values: doubles.map(String) },
  { type: { dataType: 'FLOAT' }, values: fc.oneof(fc.integer().map(String), few('NaN', '-Infinity', '0.5')) },
  { type: { dataType: 'BOOLEAN' }, values: few('true', 'false') },
  { type: { dataType: 'DATE' }, values: fc.oneof(isoDay, few('infinity', '-infinity', '2024-02-29')) },
  {
    type: { dataType: 'TIMESTAMP' },
    values: fc.oneof(
      isoDay.map((date) => `${date} 12:30:00.25`),
      few('infinity'),
    ),
  },
  { type: { dataType: 'TIMESTAMPTZ' }, values: isoDay.map((date) => `${date} 00:00:00+00`) },
  {
    type: { dataType: 'TEXT' },
    values: fc.oneof(fc.string({ unit: 'grapheme', maxLength: 12 }).map(storable), few('', 'a', 'ä')),
  },
  { type: { dataType: 'VARCHAR_50' }, values: few('', 'north', 'south', 'Zürich', '☃☃') },
  { type: { dataType: 'TEXT' }, values: fc.nat(300).map((n) => 'é'.repeat(n)) },
  {
    type: { dataType: 'JSONB' },
    values: fc.oneof(
      few('null', '[1]'),
      fc.nat(20).map((n) => `{"a": ${n}}`),
    ),
  },
]
const types = columns.map(({ type }) => type)
const isText = ({ dataType }: StoredType) => /TEXT|VARCHAR/.test(dataType)
const isOrdered = ({ dataType }: StoredType) => !isText({ dataType }) && !/BOOLEAN|JSONB/.test(dataType)

/** PostgreSQL stores no NUL. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '')
}

const row = fc.tuple(...columns.map(({ values }) => fc.option(values, { freq: 5 })))
const tables = fc.oneof(fc.array(row, { maxLength: 3 }), fc.array(row, { minLength: 80, maxLength: 150, size: 'max' }))

describe('the profile of rows', () => {
  let client: Client

  beforeAll(async () => {
    client = new Client(process.env['TEST_DATABASE_URL'])
    await client.connect()
    const list = columns.map(({ type }, index) => `c${index} ${sqlType(type)}`).join(', ')
    await client.query(`set timezone = 'UTC'; create temp table measured (${list})`)
  })
  afterAll(() => client?.end())

  /** Fills the table, and returns its rows as PostgreSQL writes them. */
  async function fill(rows: readonly (string | null)[][]): Promise<Buffer> {
    await client.query('truncate measured')
    const arrays = columns.map(({ type }, index) => `$${index + 1}::text[]::${sqlType(type)}[]`).join(', ')
    await client.query(
      `insert into measured select * from unnest(${arrays})`,
      columns.map((_, index) => rows.map((cells) => cells[index])),
    )
    const parts = await Array.fromAsync(client.query(copyTo('copy measured to stdout (format binary)')))
    return Buffer.concat(parts as Buffer[]).subarray(19, -2)
  }

  it('has the figures that PostgreSQL computes from the same rows, for every type', async () => {
    await fc.assert(
      fc.asyncProperty(tables, fc.array(fc.nat(40)), async (rows, cuts) => {
        const tuples = await fill(rows)
        const profile = profileOf(types, chunksOf(tuples, cuts))
        expect(profile.rows).toBe(rows.length)
        for (const [index, column] of profile.columns.entries()) {
          const { frequentValues = [], histogram, minBytes, maxBytes, ...exact } = column
          expect(exact).toEqual(await figures(index))
          // Values with equal first bytes are not distinguished, so the length is that of any of them.
          if (minBytes !== undefined) expect(await countOf(index, exact.min!, minBytes)).toBeGreaterThan(0)
          if (maxBytes !== undefined) expect(await countOf(index, exact.max!, maxBytes)).toBeGreaterThan(0)
          expect(frequentValues.map(({ rows: count }) => count)).toEqual(await frequencies(index))
          for (const { value, rows: count, bytes } of frequentValues)
            expect([value, await countOf(index, value, bytes)]).toEqual([value, count])
          if (histogram) expect(histogram.rows).toEqual(await bucketsOf(index, histogram.bounds))
          expect(histogram !== undefined).toBe(isOrdered(types[index]!) && (await finite(index)) > 0)
        }
      }),
      { numRuns: 8, seed: 20_261_127, endOnFailure: true },
    )
  })

  const value = (index: number) => {
    const { dataType } = types[index]!
    if (isText(types[index]!)) return `c${index}::text collate "C"`
    return dataType === 'BOOLEAN' || dataType === 'JSONB' ? `c${index}::text` : `c${index}`
  }
  const one = async (text: string, values: unknown[] = []) =>
    (await client.query(`select ${text} from measured`, values)).rows[0]
  const unless = (index: number) =>
    isOrdered(types[index]!)
      ? `c${index}::text not in ('NaN', 'Infinity', '-Infinity', 'infinity', '-infinity')`
      : 'false'
  const finite = async (index: number): Promise<number> =>
    (await one(`count(*) filter (where ${unless(index)})::int as n`)).n

  async function figures(index: number): Promise<Partial<ColumnProfile>> {
    const type = types[index]!
    const found =
      await one(`count(*) filter (where c${index} is null)::int as nulls, count(distinct ${value(index)})::int as distinct,
      min(${value(index)})::text as min, max(${value(index)})::text as max,
      min(length(c${index}::text)) as shortest, max(length(c${index}::text)) as longest,
      count(c${index})::int as present`)
    const { nulls, distinct, min, max, shortest, longest, present } = found
    const notFinite = isOrdered(type) ? present - (await finite(index)) : 0
    const ends = type.dataType !== 'JSONB' && present > 0
    return {
      column: `c${index}`,
      nulls,
      distinct,
      ...(ends && { min: shown(min), max: shown(max) }),
      ...(isText(type) && present > 0 && { minLength: shortest, maxLength: longest }),
      ...(notFinite > 0 && { notFinite }),
    }
  }

  /** Returns the ten largest numbers of rows with the same value. */
  async function frequencies(index: number): Promise<number[]> {
    if (types[index]!.dataType === 'JSONB') return []
    const { rows } = await client.query(
      `select count(*)::int as n from measured where c${index} is not null group by ${value(index)} order by n desc limit 10`,
    )
    return rows.map(({ n }) => n)
  }

  async function countOf(index: number, text: string, bytes: number | undefined): Promise<number> {
    const found = isText(types[index]!)
      ? `starts_with(c${index}, $1) and octet_length(c${index}) = ${bytes ?? Buffer.byteLength(text)}`
      : `c${index} = $1::${sqlType(types[index]!)}`
    return (await one(`count(*) filter (where ${found})::int as n`, [text])).n
  }

  async function bucketsOf(index: number, bounds: readonly string[]): Promise<number[]> {
    const { dataType } = types[index]!
    // The bounds of reals are doubles, as are the texts of reals.
    const [cell, cast] =
      dataType === 'FLOAT'
        ? [`c${index}::text::double precision`, '::double precision']
        : [`c${index}`, `::${sqlType(types[index]!)}`]
    const buckets = bounds.slice(1).map((bound, at) => {
      const until = at === bounds.length - 2 ? '<=' : '<'
      return `count(*) filter (where ${unless(index)} and ${cell} >= '${bounds[at]}'${cast} and ${cell} ${until} '${bound}'${cast})::int`
    })
    return ((await one(`array[${buckets.join(', ')}] as n`)) as { n: number[] }).n
  }
})

/** Returns a text as profiles show it: cut to 64 bytes, at a whole character. */
function shown(text: string): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(text).subarray(0, 64), { stream: true })
}

function profileOf(stored: readonly StoredType[], chunks: readonly Uint8Array[]): RowsProfile {
  using measure = new TableProfiler(stored)
  for (const chunk of chunks) measure.add(chunk)
  return measure.profile(stored.map((_, index) => ({ name: `c${index}` })))!
}

/** Splits tuples after every `cuts[i]` rows, and leaves the rest in one chunk. */
function chunksOf(tuples: Buffer, cuts: readonly number[]): Buffer[] {
  const starts = rowStarts(tuples)
  const bounds: number[] = []
  for (let row = 0, cut = 0; cut < cuts.length; cut++) {
    row += cuts[cut]!
    if (row < starts.length) bounds.push(starts[row]!)
  }
  return [0, ...bounds].map((from, index) => tuples.subarray(from, bounds[index] ?? tuples.length))
}

function rowStarts(tuples: Buffer): number[] {
  const starts: number[] = []
  for (let at = 0; at < tuples.length; ) {
    starts.push(at)
    const width = tuples.readUInt16BE(at)
    at += 2
    for (let field = 0; field < width; field++) at += 4 + Math.max(0, tuples.readInt32BE(at))
  }
  return starts
}

function encode(stored: readonly StoredType[], rows: Iterable<readonly unknown[]>): Buffer {
  const buffer = new TupleBuffer()
  const encoder = new RowEncoder(
    stored.map((type, index) => ({ label: `c${index}`, ...type })),
    buffer,
  )
  for (const cells of rows) if (!encoder.write(cells)) throw new Error(encoder.fault!.reason)
  return Buffer.from(buffer.take())
}

describe('the profile of more rows than the sample has', () => {
  const count = 60_000
  const stored: StoredType[] = [
    { dataType: 'INTEGER' },
    { dataType: 'TEXT' },
    { dataType: 'INTEGER' },
    { dataType: 'DECIMAL', precision: 10, scale: 2 },
    { dataType: 'BOOLEAN' },
    { dataType: 'TEXT' },
  ]
  /** Every third row has one of a few texts; 3 and 500 share no factor, so each text occurs. */
  const rows = Array.from({ length: count }, (_, index) => [
    index,
    `name ${index}`,
    index % 500,
    ((index % 7000) / 4).toFixed(2),
    index % 2 === 0,
    index % 3 === 0 ? `often ${index % 2}` : `seldom ${index}`,
  ])
  const tuples = encode(stored, rows)
  const profile = profileOf(stored, [tuples])

  it('estimates the number of distinct values within 15 %', () => {
    const distinct = [count, count, 500, 7000, 2, 2 + (count * 2) / 3]
    for (const [index, column] of profile.columns.entries())
      expect(Math.abs(column.distinct / distinct[index]! - 1)).toBeLessThan(0.15)
    expect(profile.columns.map(({ isEstimate = false }) => isEstimate)).toEqual([true, true, true, true, false, true])
  })

  it('has exact nulls, extremes and lengths, and exact frequent values of a column with up to 64 distinct values', () => {
    expect(
      profile.columns.map(({ nulls, min, max, minLength, maxLength }) => [nulls, min, max, minLength, maxLength]),
    ).toEqual([
      [0, '0', '59999', undefined, undefined],
      [0, 'name 0', 'name 9999', 6, 10],
      [0, '0', '499', undefined, undefined],
      [0, '0.00', '1749.75', undefined, undefined],
      [0, 'false', 'true', undefined, undefined],
      [0, 'often 0', 'seldom 9998', 7, 12],
    ])
    expect(profile.columns[4]).toMatchObject({
      frequentValues: [
        { value: 'false', rows: 30_000 },
        { value: 'true', rows: 30_000 },
      ],
    })
    expect(profile.columns[4]).not.toHaveProperty('sampledRows')
  })

  it('estimates frequent values and histogram from a sample, and says from how many rows', () => {
    const [ids, unique, , , , texts] = profile.columns
    const sampled = texts!.sampledRows!
    expect(sampled).toBeGreaterThan(1_000)
    const [first, second, ...others] = texts!.frequentValues!
    expect([first!.value, second!.value].toSorted()).toEqual(['often 0', 'often 1'])
    expect(others).toEqual([])
    // Four standard deviations of a share of a sixth.
    const tolerated = 4 * Math.sqrt((1 / 6) * (5 / 6) * sampled)
    for (const { rows: estimate, atLeast } of [first!, second!]) {
      expect(Math.abs(atLeast! - sampled / 6)).toBeLessThan(tolerated)
      expect(estimate).toBe(Math.round((atLeast! * count) / sampled))
      expect(atLeast).toBeLessThanOrEqual(10_000)
    }
    expect(unique!.frequentValues).toEqual([])
    expect(ids!.histogram!.bounds).toHaveLength(21)
    expect(ids!.histogram!.rows.reduce((sum, each) => sum + each, 0)).toBe(count)
    for (const each of ids!.histogram!.rows) expect(Math.abs(each / (count / 20) - 1)).toBeLessThan(0.35)
  })

  it('does not depend on how the rows are split into chunks', () => {
    const starts = rowStarts(tuples)
    for (const size of [1, 997, 20_000]) {
      const bounds = starts.filter((_, row) => row % size === 0)
      expect(
        profileOf(
          stored,
          bounds.map((from, index) => tuples.subarray(from, bounds[index + 1])),
        ),
      ).toEqual(profile)
    }
  })

  it.each([50, 1_000, 5_000, 25_000])('never has more distinct values than values in %d rows', (size) => {
    const some = encode(
      [{ dataType: 'INTEGER' }, { dataType: 'TEXT' }],
      Array.from({ length: size }, (_, index) => [index % 4 === 0 ? null : index, `value ${index}`]),
    )
    for (const { distinct, nulls } of profileOf([{ dataType: 'INTEGER' }, { dataType: 'TEXT' }], [some]).columns)
      expect(distinct).toBeLessThanOrEqual(size - nulls)
  })
})

describe('the profile of unusual tables', () => {
  it('of no rows, and of rows with nulls only, has no values', () => {
    const stored: StoredType[] = [{ dataType: 'TEXT' }, { dataType: 'DOUBLE' }]
    expect(profileOf(stored, [])).toEqual({
      rows: 0,
      columns: [
        { column: 'c0', nulls: 0, distinct: 0 },
        { column: 'c1', nulls: 0, distinct: 0 },
      ],
    })
    expect(
      profileOf(stored, [
        encode(
          stored,
          Array.from({ length: 70 }, () => [null, null]),
        ),
      ]).columns,
    ).toEqual([
      { column: 'c0', nulls: 70, distinct: 0 },
      { column: 'c1', nulls: 70, distinct: 0 },
    ])
  })

  it('cuts long texts and says how long they are, also if they are longer than the input of the module', () => {
    const long = ['é'.repeat(3_000_000), `${'é'.repeat(2_999_999)}à`, 'b'.repeat(70_000), 'short']
    const stored: StoredType[] = [{ dataType: 'INTEGER' }, { dataType: 'TEXT' }]
    const values = [0, 1, 2, 3, 0].map((index) => [index, long[index]])
    const { columns } = profileOf(stored, [encode(stored, values)])
    expect(columns[1]).toEqual({
      column: 'c1',
      nulls: 0,
      distinct: 4,
      min: 'b'.repeat(64),
      minBytes: 70_000,
      max: 'é'.repeat(32),
      maxBytes: 6_000_000,
      minLength: 5,
      maxLength: 3_000_000,
      frequentValues: expect.any(Array),
    })
    const bySize = columns[1]!.frequentValues!.toSorted(
      (one, other) => other.rows - one.rows || (other.bytes ?? 0) - (one.bytes ?? 0),
    )
    expect(bySize).toEqual([
      { value: 'é'.repeat(32), bytes: 6_000_000, rows: 2 },
      { value: 'é'.repeat(32), bytes: 6_000_000, rows: 1 },
      { value: 'b'.repeat(64), bytes: 70_000, rows: 1 },
      { value: 'short', rows: 1 },
    ])
    expect(columns[0]).toMatchObject({
      nulls: 0,
      min: '0',
      max: '3',
      histogram: { bounds: ['0', '1', '2', '3', '3'], rows: [2, 1, 1, 1] },
    })
  })

  it('takes a few kilobytes for each column, whatever the number of rows', () => {
    const stored = Array.from({ length: 1_600 }, (): StoredType => ({ dataType: 'TEXT' }))
    const chunk = encode(
      stored,
      Array.from({ length: 100 }, (_, row) => stored.map((_, column) => `a value in row ${row} and column ${column}`)),
    )
    const before = process.memoryUsage().arrayBuffers
    using measure = new TableProfiler(stored)
    for (let turn = 0; turn < 10; turn++) for (const each of chunksOf(chunk, Array(99).fill(1))) measure.add(each)
    expect(measure.profile(stored.map((_, index) => ({ name: `c${index}` })))!.columns[7]).toMatchObject({
      minLength: 29,
      maxLength: 30,
    })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(24 * 1024 * 1024)
  })
})

describe('the profile of malformed rows', () => {
  const stored: StoredType[] = [{ dataType: 'BIGINT' }, { dataType: 'TEXT' }, { dataType: 'DECIMAL' }]
  const valid = encode(stored, [[1, 'one', '1.5']])
  const changed = (at: number, value: number, bytes: 2 | 4, row = valid) => {
    const copy = Buffer.from(row)
    copy.writeIntBE(value, at, bytes)
    return copy
  }
  const long = encode(stored, [[1, 'é'.repeat(600_000), '1.5']])

  it.each([
    ['more fields than columns', changed(0, 4, 2)],
    ['fewer fields than columns', changed(0, 2, 2)],
    ['a text that is longer than the chunk', changed(14, 1_000, 4)],
    ['a text of 2 GB', changed(14, 0x7fffffff, 4)],
    ['a number that is too short for its type', encode([{ dataType: 'INTEGER' }, ...stored.slice(1)], [[1, 'a', '1']])],
    ['a numeric without its header', encode([...stored.slice(0, 2), { dataType: 'TEXT' }], [[1, 'a', 'four']])],
    ['a cut last value', valid.subarray(0, -1)],
    ['only their number of fields', valid.subarray(0, 2)],
    ['more fields than columns, and a long one', changed(0, 4, 2, long)],
    ['a long field that is longer than the chunk', changed(14, 0x7fffffff, 4, long)],
    ['a cut last value after a long one', long.subarray(0, -1)],
  ])('is missing if rows have %s', (_, rows) => {
    using measure = new TableProfiler(stored)
    measure.add(valid)
    measure.add(rows)
    measure.add(valid)
    expect(measure.profile(stored.map((_, index) => ({ name: `c${index}` })))).toBeUndefined()
  })

  it('leaves no bytes of an earlier table in the memory of the next one', () => {
    const secret = 'Xanthippe-7 has a very rare disease'
    profileOf(
      [{ dataType: 'TEXT' }],
      [
        encode(
          [{ dataType: 'TEXT' }],
          Array.from({ length: 90 }, (_, row) => [secret + row]),
        ),
      ],
    )
    const module = acquireProfilerModule()
    const memory = Buffer.from(module.memory.buffer)
    expect(memory.includes(secret)).toBe(true)
    module.start(1, 1024 * 1024)
    expect(memory.includes(secret)).toBe(false)
    releaseProfilerModule(module)
  })
})

describe('the profile of numerics without a scale', () => {
  const stored: StoredType[] = [{ dataType: 'DECIMAL' }]
  const profileOfNumerics = (values: Iterable<string>) =>
    profileOf(stored, [
      encode(
        stored,
        Array.from(values, (value) => [value]),
      ),
    ]).columns[0]!

  it('has a histogram with the decimals of minimum and maximum', () => {
    expect(profileOfNumerics(['0.1', '0.15', '0.3', '0.5']).histogram).toEqual({
      bounds: ['0.1', '0.2', '0.3', '0.4', '0.5', '0.5'],
      rows: [2, 0, 1, 0, 1],
    })
  })

  it('cuts values and bounds to 200 characters, and has no histogram of larger numbers', () => {
    const fraction = `0.${'1'.repeat(400)}`
    const large = `${'9'.repeat(190)}.${'7'.repeat(12)}`
    const { min, max, histogram } = profileOfNumerics([fraction, large])
    expect([min!.length, max!.length, histogram!.bounds.length, histogram!.rows]).toEqual([
      200,
      200,
      21,
      [1, ...Array(18).fill(0), 1],
    ])
    for (const bound of histogram!.bounds) expect(bound.length).toBeLessThanOrEqual(200)
    const huge = profileOfNumerics(['1', `1${'0'.repeat(131_000)}`])
    expect([huge.max, huge.histogram]).toEqual([`1${'0'.repeat(199)}`, undefined])
  })
})
