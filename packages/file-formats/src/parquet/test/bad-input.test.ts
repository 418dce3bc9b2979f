import { afterAll, describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { SourceProblem } from '@sluice/row-stream'
import { FileProblem } from '../file-problems.ts'
import { encodeRows } from '../encode-rows.ts'
import { JobPort } from '../../reader-thread-protocol.ts'
import { readRowCount, ParquetFile } from '../parquet-file.ts'
import { defaultLimits, type ParquetLimits } from '../limits.ts'
import { BinaryColumnError } from '../row-groups.ts'
import { readSchema } from '../schema.ts'
import { allTypes, withNulls } from './all-types.ts'
import { written, type WrittenColumn, writtenNested } from './write-parquet-files.ts'
import { inputFolder, readWhole } from './read-whole-file.ts'

const folder = inputFolder()
afterAll(() => folder[Symbol.dispose]())

const small: ParquetLimits = {
  ...defaultLimits,
  maxBatchRows: 64,
  maxPageBytes: 1 << 20,
  maxMemoryBytes: 8 << 20,
  ratioExempt: { bytes: 1 << 22, rows: 100_000 },
}
const ints = (data: (number | null)[]): WrittenColumn => ({ element: { type: 'INT32' }, data })
const problemOf = (content: Uint8Array, limits: Partial<ParquetLimits> = {}) =>
  readWhole(folder.write(content), limits).then(
    () => 'was read',
    (error: unknown) => {
      if (!(error instanceof SourceProblem)) throw error
      return `${error.code}: ${error.message}`
    },
  )

/** Without the thread, for tests that read thousands of files; what would crash it comes out. */
async function readInPlace(path: string): Promise<string> {
  try {
    using file = new ParquetFile(path, 'input.parquet', small)
    const columns = readSchema(file.metadata)
    readRowCount(file, small)
    const port: JobPort = new JobPort((message) => {
      if (message.kind === 'chunk') port.handle({ kind: 'release', memory: message.memory, pass: message.pass })
    })
    await encodeRows(
      file,
      columns,
      columns.map(({ column }) => column),
      small,
      port,
    )
    return 'was read'
  } catch (error) {
    if (error instanceof FileProblem) return error.code
    if (error instanceof BinaryColumnError) return 'was read'
    throw error
  }
}

describe('an invalid Parquet file', () => {
  const good = written({ a: ints([1, 2, 3]) })

  it('is rejected if its rows grow to far more than its size', async () => {
    const many = written({ a: ints(Array.from({ length: 100_000 }, (_, index) => index)) })
    const limits = { maxRatio: 1, ratioExempt: { bytes: 1e9, rows: 1e9 } }
    expect(await problemOf(many, { ...limits, ratioExemptEncodedBytes: 1_000 })).toMatch(
      /^FILE_TOO_DENSE: .*grows to more than 1 times its size/,
    )
    expect(await problemOf(many, { ...limits, ratioExemptEncodedBytes: 1e9 })).toBe('was read')
  })

  it.each([
    ['is empty', new Uint8Array(0), 'FILE_EMPTY: input.parquet is empty. Upload a file with data.'],
    [
      'has another format',
      Buffer.from('id,name\n1,x\n'),
      'NOT_PARQUET: input.parquet is not a Parquet file. Upload a Parquet file, or use a pipeline for the format of this file.',
    ],
    [
      'is truncated',
      good.subarray(0, -20),
      'FILE_DAMAGED: input.parquet is cut short: the end of a Parquet file is missing. Upload the whole file again.',
    ],
    [
      'contains only the magic bytes',
      Buffer.from('PAR1'),
      'FILE_DAMAGED: input.parquet is cut short: the end of a Parquet file is missing. Upload the whole file again.',
    ],
    [
      'is encrypted',
      Buffer.from('PARE\0\0\0\0\0\0\0\0PARE'),
      'PARQUET_ENCRYPTED: input.parquet is encrypted. Write it without encryption and upload it again.',
    ],
    [
      'has a footer longer than itself',
      Buffer.from('PAR1\0\0\0\0\xff\xff\xff\x7fPAR1', 'latin1'),
      'FILE_DAMAGED: input.parquet is damaged: its footer cannot be read. Upload the file again, or write it again.',
    ],
    [
      'has a footer of random bytes',
      Buffer.from('PAR1\x19\xff\xff\xff\xff\x04\0\0\0PAR1', 'latin1'),
      expect.stringMatching(/^FILE_DAMAGED: input.parquet is damaged: its footer cannot be read/),
    ],
    [
      'has an endless number in its footer',
      Buffer.concat([
        Buffer.from('PAR1\x16'),
        Buffer.alloc(100_000, 0x80),
        Buffer.from([0xa1, 0x86, 1, 0]),
        Buffer.from('PAR1'),
      ]),
      expect.stringMatching(/^FILE_DAMAGED: .*a number without end/),
    ],
  ])('that %s is rejected with a message', async (_, content, sentence) => {
    expect(await problemOf(content)).toEqual(sentence)
  })

  it('has rows rejected that are too long or have a too long value, and its other rows are read', async () => {
    const text = (bytes: number) => 'x'.repeat(bytes)
    const element = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const
    const mega = 1024 ** 2
    const long = written(
      {
        id: ints([1, 2, 3]),
        note: { element, data: ['a', text(16 * mega + 1), 'b'] },
      },
      { codec: 'ZSTD', statistics: false },
    )
    const { rows, rejected } = await readWhole(folder.write(long))
    expect(rows).toEqual([
      [1, 'a'],
      [3, 'b'],
    ])
    expect(rejected).toEqual([
      { line: 2, column: 'note', reason: 'is longer than 16 MB', raw: expect.stringMatching(/^id: 2, note: x{1000,}/) },
    ])
    expect(rejected[0]!.raw.length).toBeLessThanOrEqual(4096)
    const wide = written(
      Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, { element, data: [text(15 * mega)] }])),
      { codec: 'ZSTD', statistics: false },
    )
    expect((await readWhole(folder.write(wide), { maxRatio: 1e6 })).rejected).toMatchObject([
      { line: 1, column: 'e', reason: 'makes the row longer than 64 MB' },
    ])
  })

  it('fails with FILE_MISSING if it does not exist', async () => {
    await expect(readWhole('/nowhere/at/all')).rejects.toMatchObject({ code: 'FILE_MISSING' })
  })

  it('is rejected before decompression if a page grows too much', async () => {
    const zeros = written(
      { a: { element: { type: 'BYTE_ARRAY' }, data: [new Uint8Array(3 << 20)] } },
      { codec: 'ZSTD', statistics: false },
    )
    expect(zeros.length).toBeLessThan(2000)
    expect(await problemOf(zeros, { maxPageBytes: 1 << 20 })).toMatch(
      /^FILE_TOO_DENSE: input.parquet has a page of 31457\d\d bytes/,
    )
    expect(await problemOf(zeros, { ratioExempt: { bytes: 1 << 20, rows: 1000 } })).toMatch(
      /^FILE_TOO_DENSE: .* more than 1000 times/,
    )
    expect(await problemOf(zeros, { maxMemoryBytes: 1 << 20 })).toMatch(/^FILE_TOO_DENSE: .* of memory at a time/)
  })

  it('is rejected if it claims too many rows for its size', async () => {
    const many = written({ a: ints(Array.from({ length: 20_000 }, () => 1)) })
    expect(await problemOf(many, { maxRatio: 1, ratioExempt: { bytes: 1e9, rows: 100 } })).toMatch(
      /^FILE_TOO_DENSE: .*claims 20000 rows/,
    )
  })

  it('is rejected if its codec is unknown, with a list of the supported codecs', async () => {
    const odd = written({ a: ints([1]) }, { codec: 'LZO', compressors: { LZO: (input) => input } })
    expect(await problemOf(odd)).toBe(
      'PARQUET_NOT_SUPPORTED: input.parquet is compressed with LZO. Use none, or SNAPPY, GZIP, BROTLI, ZSTD, LZ4, LZ4_RAW.',
    )
  })

  it('is rejected if its footer exceeds the memory limit of the reader thread', async () => {
    // A schema of twelve million elements, each of them one byte that says it is over.
    const elements = Buffer.concat([Buffer.from([0x15, 2, 0x19, 0xfc, 0x80, 0xb6, 0xdc, 5]), Buffer.alloc(12_000_000)])
    const length = Buffer.alloc(4)
    length.writeUInt32LE(elements.length)
    const content = Buffer.concat([Buffer.from('PAR1'), elements, length, Buffer.from('PAR1')])
    expect(await problemOf(content)).toBe(
      'FILE_TOO_DENSE: input.parquet needs more memory than a file may take. Write it with smaller row groups or fewer columns.',
    )
  })

  it('is rejected if the reader makes no progress in time', async () => {
    expect(await problemOf(good, { idleTimeoutMs: 0 })).toMatch(
      /^FILE_DAMAGED: input.parquet cannot be read: the reader made no progress/,
    )
  })

  it('is read or rejected with a problem after random changes of bytes and truncations', async () => {
    const seed = Number(process.env['SLUICE_FUZZ_SEED'] ?? Date.now() % 1e9)
    const runs = drawCount({ short: 200, long: 10_000 })
    const random = generator(seed)
    const flat = (['SNAPPY', 'UNCOMPRESSED', 'ZSTD', 'GZIP'] as const).map((codec) =>
      written(fuzzed(), { codec, pageSize: 200 }),
    )
    const files = [...flat, writtenNested()]
    const ends = new Map<string, number>()
    for (let run = 0; run < runs; run++) {
      const content = Uint8Array.from(files[run % files.length]!)
      for (let flips = 1 + random(3); flips > 0; flips--) content[random(content.length)] = random(256)
      const cut = random(20) === 0 ? content.subarray(0, random(content.length)) : content
      const path = folder.write(cut)
      const end = await readInPlace(path).catch((cause: unknown) => {
        throw new Error(`seed ${seed}, run ${run}: ${path}`, { cause })
      })
      ends.set(end, (ends.get(end) ?? 0) + 1)
    }
    expect(ends.get('was read')).toBeGreaterThan(0)
    expect(ends.get('FILE_DAMAGED')).toBeGreaterThan(0)
  })
})

function fuzzed(): Record<string, WrittenColumn> {
  const some = withNulls(allTypes)
  const names = [
    'flag',
    'tiny',
    'big',
    'wide',
    'text',
    'old_text',
    'json',
    'uuid',
    'day',
    'at_nano',
    'fine_clock',
  ] as const
  const encoded = {
    deltas: { ...some.big!, encoding: 'DELTA_BINARY_PACKED' as const },
    prefixes: { ...some.text!, encoding: 'DELTA_BYTE_ARRAY' as const },
    lengths: { ...some.text!, encoding: 'DELTA_LENGTH_BYTE_ARRAY' as const },
    streams: { ...some.double!, encoding: 'BYTE_STREAM_SPLIT' as const },
  }
  const all = { ...Object.fromEntries(names.map((name) => [name, some[name]!])), ...encoded }
  return Object.fromEntries(
    Object.entries(all).map(([name, column]) => [
      name,
      { ...column, data: Array.from({ length: 20 }, () => column.data).flat() },
    ]),
  )
}

/** Whole numbers below a bound, the same for the same seed (mulberry32). */
function generator(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
