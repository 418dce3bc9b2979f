import type { SeededRandom } from './data/seeded-random.ts'

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

export const tableKinds = { wide, narrow, quoted }
export type KindName = keyof typeof tableKinds
