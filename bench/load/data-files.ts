import { createWriteStream } from 'node:fs'
import { mkdir, rename, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'

export interface DataFile {
  kind: KindName
  path: string
  /** Bytes. */
  size: number
}

const seed = 20_261_121

/**
 * Returns a CSV file of about this many megabytes. The content is the same every time, so the file of an earlier run is
 * reused.
 */
export async function createDataFile(folder: string, kind: KindName, megabytes: number): Promise<DataFile> {
  const path = join(folder, `${kind}-${megabytes}mb-${seed}.csv`)
  const existing = await stat(path).catch(() => undefined)
  if (existing) return { kind, path, size: existing.size }
  await mkdir(folder, { recursive: true })
  const size = await write(`${path}.part`, kind, megabytes * 1e6)
  await rename(`${path}.part`, path)
  return { kind, path, size }
}

async function write(path: string, name: KindName, size: number): Promise<number> {
  const kind = tableKinds[name]
  const numbers = seededRandom(seed)
  const file = createWriteStream(path)
  let bytes = 0
  let text = headerOf(kind)
  for (let number = 1; bytes < size; number++) {
    text += kind.line(number, numbers)
    if (text.length < 1 << 18) continue
    const chunk = Buffer.from(text)
    bytes += chunk.length
    text = ''
    if (!file.write(chunk)) await once(file, 'drain')
  }
  file.end(text)
  await once(file, 'finish')
  return bytes + Buffer.byteLength(text)
}

export interface TableKind {
  /** Column definitions of PostgreSQL. The type inference of Sluice must find the same types. */
  columns: string[]
  line(number: number, random: SeededRandom): string
}

const names = (columns: string[]): string => columns.map((column) => column.split(' ')[0]).join(',')
export const headerOf = ({ columns }: TableKind): string => `${names(columns)}\n`

const countries = ['US', 'DE', 'FR', 'GB', 'JP', 'BR', 'IN', 'ZA', 'SE', 'NZ']
const fox = ' the quick brown fox jumps over the lazy dog'
const openings = [
  '"He said ""ok"", then left ',
  '"line one\nline two, ',
  '"comma, separated, ',
  'Zürich – naïve café ☕ ',
  'back\\slash ',
  'plain note ',
  'plain note ',
  'plain note ',
]
const day = 86_400_000
const firstDay = Date.UTC(2015, 0, 1)
const date = (random: SeededRandom): string => new Date(firstDay + random.below(4000) * day).toISOString().slice(0, 10)
const nullable = (random: SeededRandom, oneIn: number, value: () => string): string =>
  random.below(oneIn) === 0 ? '' : value()
const cents = (random: SeededRandom): string => (random.below(10_000_000) / 100).toFixed(2)

function note(random: SeededRandom): string {
  if (random.below(10) < 3) return ''
  const opening = openings[random.below(openings.length)]!
  const text = `${opening}${random.word().toString(16)}${fox.slice(0, 1 + random.below(44))}`
  return opening.startsWith('"') ? `${text}"` : text
}

/** Twelve columns of every type, nulls, and text with quotes, commas and line breaks. */
const wide: TableKind = {
  columns: [
    'id bigint',
    'customer_id integer',
    'big_ref bigint',
    'qty smallint',
    'price numeric(8,2)',
    'ratio double precision',
    'active boolean',
    'order_date date',
    'created_at timestamp',
    'sku text',
    'country text',
    'note text',
  ],
  line: (number, random) =>
    `${[
      // More than 32 bits, so that the type is the same for every size.
      4_000_000_000 + number,
      nullable(random, 50, () => String(random.below(1_000_000))),
      (BigInt(random.word()) * BigInt(random.word())) / 4n,
      random.below(500),
      nullable(random, 33, () => cents(random)),
      // With an exponent. Without it, type inference finds exact decimals.
      ((random.below(2_000_000) - 1_000_000) / 12_345).toExponential(),
      nullable(random, 100, () => String(random.below(2) === 0)),
      date(random),
      new Date(firstDay + random.word() * 80).toISOString().slice(0, 23).replace('T', ' '),
      `SKU-${random.word().toString(16).toUpperCase().padStart(8, '0')}`,
      countries[random.below(10)],
      note(random),
    ].join(',')}\n`,
}

/** Six short columns: many rows per megabyte. */
const narrow: TableKind = {
  columns: ['id bigint', 'k integer', 'amount numeric(8,2)', 'd date', 'flag boolean', 'code text'],
  line: (number, random) =>
    `${[
      4_000_000_000 + number,
      random.below(1_000_000),
      cents(random),
      date(random),
      random.below(2) === 0,
      `A${random.below(16_777_216).toString(16).toUpperCase().padStart(6, '0')}`,
    ].join(',')}\n`,
}

/** Long quoted texts that contain doubled quotes, commas and line breaks. */
const quoted: TableKind = {
  columns: ['id bigint', 'title text', 'body text', 'place text'],
  line: (number, random) => {
    const words = Array.from({ length: 6 + random.below(40) }, () =>
      fox.slice(1 + random.below(20), 24 + random.below(20)),
    )
    const body = words.join(random.below(4) === 0 ? ',\n' : ' ""and"" ')
    return `${4_000_000_000 + number},"Report, no. ${number}","${body}","${countries[random.below(10)]}"\n`
  },
}

/** Twelve columns, of which two have nested values: the rows of NDJSON files. */
const nested: TableKind = {
  columns: [
    'id bigint',
    'customer_id integer',
    'big_ref bigint',
    'qty smallint',
    'price numeric(8,2)',
    'active boolean',
    'order_date date',
    'created_at timestamp',
    'sku text',
    'country text',
    'address jsonb',
    'tags jsonb',
  ],
  line: (number, random) => {
    const address = { city: 'Zürich', zip: random.below(10_000), geo: [random.below(90), random.below(180)] }
    const tags = ['a', fox.slice(1, 1 + random.below(30))]
    const json = (value: object) => `"${JSON.stringify(value).replaceAll('"', '""')}"`
    return `${[
      4_000_000_000 + number,
      nullable(random, 50, () => String(random.below(1_000_000))),
      (BigInt(random.word()) * BigInt(random.word())) / 4n,
      random.below(500),
      cents(random),
      random.below(2) === 0,
      date(random),
      new Date(firstDay + random.word() * 80).toISOString().slice(0, 23).replace('T', ' '),
      `SKU-${random.word().toString(16).toUpperCase().padStart(8, '0')}`,
      countries[random.below(10)],
      json(address),
      json(tags),
    ].join(',')}\n`
  },
}

export const tableKinds = { wide, narrow, quoted, nested }
export type KindName = keyof typeof tableKinds

/** A generator whose seed determines its numbers, on every machine. */
export interface SeededRandom {
  /** Returns an integer from 0 to 2^32 - 1. */
  word(): number
  /** Returns an integer from 0 to `end` - 1. */
  below(end: number): number
}

/** A linear congruential generator. Callers use its high bits, which are random enough for test data. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  const word = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state
  }
  return { word, below: (end) => Math.floor((word() / 2 ** 32) * end) }
}
