export type Random = () => number

/** A small generator with a seed, so that a failure can be had again. */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)]!
export const below = (random: Random, end: number) => Math.floor(random() * end)
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
  ['31/01/2024', '13/02/2024', '02/03/2024', '05/05/2024', '29/02/2023', '31/01/2024 10:00', '1/2/2024'],
  ['02/03/2024', '05/05/2024', '01/31/2024', '13/02/2024', '12/31/2024 23:59:59.5'],
  ['31-01-2024', '02-03-2024', '12-31-2024', '31-01-2024T10:00Z', '1-2-2024'],
  ['31.01.2024', '29.02.2024', '01.02.0003', '31.02.2024', '2024-01-31', '31.01.2024 24:00'],
  ['2024/01/31', '2024/02/30', '2024/12/01 10:00+02', '2024/1/1', '2024-01/01'],
  ['20240131', '20241301', '1'],
  [
    '0.1234567890123456789',
    '1234567890.1234567890',
    '12345678901234567890123456.5',
    '0.00000000000000000000000000000000001',
    '7',
  ],
  ['1,5', '-0,25', '1.5', '0,10', '7', '1,5e3'],
  words,
]

export function charactersAtRandom(random: Random): string {
  const poisoned = random() < 0.3
  return Array.from({ length: below(random, 60) }, () =>
    poisoned && random() < 0.05 ? pick(random, poison) : pick(random, soup),
  ).join('')
}

export function rowsAtRandom(random: Random, delimiter: string): string {
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
