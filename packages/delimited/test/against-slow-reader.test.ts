import { isUtf8 } from 'node:buffer'
import { afterAll, expect, it } from '@jest/globals'
import { type Delimiter, delimiters } from '../src/dialect/options.ts'
import { inputFolder, readInPlace } from './read-whole.ts'
import { readSlowly } from './slow-reader.ts'

const folder = inputFolder()
afterAll(() => folder[Symbol.dispose]())

const firstSeed = 1
const files = 4000

type Random = () => number

/** A small generator with a seed, so that a failure can be had again. */
function seeded(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)]!
const below = (random: Random, end: number) => Math.floor(random() * end)
const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1')

const words = [
  'a',
  'Ü',
  '日本',
  '😀',
  'x y',
  ' ',
  'true',
  'FALSE',
  '7',
  '-12',
  '0.5',
  '2024-02-29',
  '\\',
  '\\N',
  '\t',
  '\\.',
]
const soup = ['"', '"', '""', '\n', '\r', '\r\n', ',', ';', '\t', '|', ...words].map(latin1)
const poison = ['\0', '\xe9', '\xc3', '\xed\xa0\x80', '\xf0\x9f', '\xff']
const families: readonly (readonly string[])[] = [
  ['true', 'FALSE', 'True', 'tru'],
  ['0', '7', '-3', '32767', '-32768', '32768', '2147483647', '-2147483648', '2147483648', '-0', '007'],
  ['9223372036854775807', '-9223372036854775808', '9223372036854775808', '1', '12345678901234567890123456789012345678'],
  ['1.5', '-0.25', '.5', '0.10', '123456.789', '5.', '+1', '1,5', '-0.00', '1e5'],
  ['1e5', '-2.5E-3', '1e400', '1e-400', '3', '1.25', '0e999', '123456789012345678'],
  ['2024-02-29', '2023-02-29', '0001-01-01', '9999-12-31', '1900-02-29', '0000-01-01', '2024-01-31T10:00'],
  [
    '2024-01-31T23:59:59',
    '2024-01-31 00:00:00.123456',
    '2024-01-31',
    '2024-01-31 24:00',
    '2024-01-31T10:00:00.1234567',
  ],
  ['2024-01-31T23:59:59Z', '2024-01-31 10:00+02', '2024-01-31T10:00:00.5-03:30', '2024-01-31T10:00:00.000+0000'],
  words,
]

function charactersAtRandom(random: Random): string {
  const poisoned = random() < 0.3
  return Array.from({ length: below(random, 60) }, () =>
    poisoned && random() < 0.05 ? pick(random, poison) : pick(random, soup),
  ).join('')
}

function rowsAtRandom(random: Random, delimiter: string): string {
  const width = 1 + below(random, 5)
  // A column's values mostly come from one family and from the front of it, so that many columns have a narrow type.
  const columns = Array.from({ length: width }, () => {
    const family = pick(random, families)
    const values = random() < 0.3 ? pick(random, families) : family
    return random() < 0.6 ? [...family.slice(0, 1 + below(random, family.length)), ''] : [...family, ...values, '']
  })
  const end = () => pick(random, random() < 0.8 ? ['\n'] : ['\n', '\r\n', '\r', '\n\n'])
  const field = (value: string) =>
    random() < 0.3 || value.includes(delimiter) ? `"${value.replaceAll('"', '""')}"` : value
  const lines = Array.from({ length: below(random, 12) }, () => {
    const cells = columns.map((values) => field(pick(random, values)))
    if (random() < 0.05) cells.push('extra')
    if (random() < 0.05) cells.push('"stray')
    if (random() < 0.03) cells.push('"a"b')
    return cells.join(delimiter) + end()
  })
  const header = columns.map((_, index) => `c${index}`).join(delimiter)
  const text = latin1(`${header}${end()}${lines.join('')}`)
  return random() < 0.3 ? text.replace(/[\r\n]+$/, '') : text
}

/** Now and then the same text as UTF-16, where it is text; a NUL at its start would be the mark of UTF-32. */
function encodedAtRandom(random: Random, content: Buffer): Buffer {
  if (random() < 0.8 || !isUtf8(content) || content[0] === 0) return content
  const units = Buffer.from(`\ufeff${content.toString('utf8')}`, 'utf16le')
  return random() < 0.5 ? units : units.swap16()
}

async function compare(seed: number): Promise<void> {
  const random = seeded(seed)
  const delimiter = pick(random, Object.keys(delimiters) as Delimiter[])
  const dialect = { delimiter, headerRow: random() < 0.8 }
  const content = Buffer.from(
    random() < 0.5 ? charactersAtRandom(random) : rowsAtRandom(random, delimiters[delimiter]),
    'latin1',
  )
  const limits = {
    readBytes: 7 + below(random, 58),
    chunkBytes: 7 + below(random, 58),
    chunksInFlight: 1,
    recordBytes: random() < 0.3 ? 10 + below(random, 40) : 10_000,
  }
  const slow = readSlowly(content, { ...dialect, delimiter: delimiters[delimiter], recordBytes: limits.recordBytes })
  const fast = await readInPlace(folder.write(encodedAtRandom(random, content)), dialect, limits)
  const context = `seed ${seed}, ${JSON.stringify({ dialect, limits })}, input ${JSON.stringify(content.toString('latin1'))}`
  try {
    if ('problem' in slow || 'problem' in fast) return expect(fast).toEqual(slow)
    const types = fast.columns.map(({ dataType, precision, scale }) =>
      dataType === 'DECIMAL' ? `DECIMAL(${precision},${scale})` : dataType,
    )
    expect(types).toEqual(slow.types)
    expect(fast.rows).toEqual(slow.rows)
    // Of a record over the limit only as much is shown as was read before it was given up.
    const compared = (raw: string) => (limits.recordBytes < 100 ? raw.slice(0, 2) : raw)
    expect(fast.rejected.map(({ line, raw }) => ({ line, raw: compared(raw) }))).toEqual(
      slow.rejected.map(({ line, raw }) => ({ line, raw: compared(shown(raw)) })),
    )
    for (const [index, { reason }] of fast.rejected.entries()) expect(reason).toMatch(slow.rejected[index]!.reason)
  } catch (error) {
    throw new Error(`${context}\n${(error as Error).message}`, { cause: error })
  }
}

const shown = (raw: string) => Buffer.from(raw, 'latin1').toString('utf8').replaceAll('\0', '␀')

it('reads what a slow reader reads, from thousands of random files over every chunk boundary', async () => {
  for (let seed = firstSeed; seed < firstSeed + files; seed++) await compare(seed)
}, 120_000)
