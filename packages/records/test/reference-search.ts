import { sql, type Kysely } from 'kysely'
import { connect } from '@sluice/database'
import type { SearchResource } from '../src/search/search-plan.ts'

/** A row of the test table, with JavaScript values. */
export interface Row {
  key: number
  id: string
  name: string | null
  size: number | null
  amount: number | null
  created: Date | null
  disabled: boolean | null
  status: string | null
  tags: string[] | null
}

export const statuses = ['ACTIVE', 'INACTIVE', 'INVITATION']

export const resource: SearchResource = {
  name: 'things',
  idColumn: 'r.key',
  idType: 'number',
  properties: {
    id: { type: 'uid', column: 'r.uid' },
    name: { type: 'string', column: 'r.name' },
    size: { type: 'number', column: 'r.size' },
    amount: { type: 'number', column: 'r.amount' },
    created: { type: 'date-time', column: 'r.created_at' },
    disabled: { type: 'boolean', column: 'r.disabled' },
    status: { type: 'enum', values: statuses, column: 'r.status' },
    tags: { type: 'strings', column: 'r.tags' },
    'labels.text': {
      type: 'string',
      column: 'l.text',
      toExists: (condition) => sql`exists (select from unnest(r.tags) as l(text) where ${condition})`,
    },
  },
  query: (text) => sql`r.uid::text = ${text} or r.name ilike ${`%${text}%`}`,
}

/** Pseudo-random numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)]!

/** Few pieces with special characters, so that random texts often contain each other. */
const pieces = 'a A b % _ \\ : , [ ] \' " é e\u0301 É ß ж Ж Σ σ ς 漢 😀 1 - $ ! { } % _ \\'.split(' ').concat(' ')

export const randomText = (random: () => number, longest: number): string =>
  Array.from({ length: Math.floor(random() * (longest + 1)) }, () => pick(random, pieces)).join('')

export function randomRows(random: () => number, count: number): Row[] {
  const maybe = <T>(value: T): T | null => (random() < 0.15 ? null : value)
  const whole = (below: number) => Math.floor(random() * below)
  return Array.from({ length: count }, (_, index) => ({
    key: index + 1,
    id: '########-####-4###-8###-############'.replaceAll('#', () => whole(16).toString(16)),
    name: maybe(randomText(random, 5)),
    size: maybe(whole(12) - 4),
    amount: maybe((whole(40) - 20) / 8),
    created: maybe(new Date(Date.UTC(2024, 0, 1 + whole(5), whole(2) * 12, 0, 0, whole(2)))),
    disabled: maybe(random() < 0.5),
    status: maybe(pick(random, statuses)),
    tags: maybe(Array.from({ length: whole(4) }, () => randomText(random, 2))),
  }))
}

/** Connects to a temporary table with these rows. Its collation sorts by code point on every server. */
export async function connectWith(rows: Row[]): Promise<AsyncDisposable & { db: Kysely<any> }> {
  const url = process.env['TEST_DATABASE_URL']
  if (!url)
    throw new Error('TEST_DATABASE_URL is not set: "npm test" in the root folder starts a PostgreSQL and sets it.')
  // One connection, because a temporary table belongs to it.
  const connection = connect<any>(url, { name: 'search-test', max: 1 })
  await sql`
    create temporary table thing (
      key bigint primary key, uid uuid not null, name text collate pg_c_utf8, size integer, amount double precision,
      created_at timestamptz, disabled boolean, status text, tags text[] collate pg_c_utf8
    )`.execute(connection.db)
  const columns = rows.map(({ key, id, name, size, amount, created, disabled, status, tags }) => ({
    key,
    uid: id,
    name,
    size,
    amount,
    created_at: created,
    disabled,
    status,
    tags,
  }))
  await connection.db.insertInto('thing').values(columns).execute()
  return connection
}

/** Compares by code point, like the collation of the test table. */
export const compareTexts = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Converts letter by letter to lower case, like PostgreSQL: one letter never becomes two. */
export const lower = (text: string): string =>
  [...text].map((letter) => ([...letter.toLowerCase()].length === 1 ? letter.toLowerCase() : letter)).join('')

const orderable = ['id', 'name', 'size', 'amount', 'created', 'disabled', 'status'] as const

/** A random order of one to three properties, each with a valid direction. */
export function someOrder(random: () => number): string[] {
  const names = new Set(Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(random, orderable)))
  return [...names].map((name) => {
    const direction = pick(random, name === 'name' ? ['asc', 'desc', 'iasc', 'idesc'] : ['asc', 'desc'])
    return random() < 0.2 ? name : `${name}:${direction}`
  })
}

/** Returns a comparison by these order terms. `complete`: all properties of the resource are required. */
export function compareBy(terms: string[], complete = false): (a: Row, b: Row) => number {
  return (a, b) => {
    for (const term of terms) {
      const [name, direction = 'asc'] = term.split(':') as [(typeof orderable)[number], string?]
      const [x, y] = [a[name], b[name]]
      // Missing values come last in either direction.
      if (x === null || y === null) {
        if (x !== y) return x === null ? 1 : -1
        continue
      }
      const difference =
        typeof x === 'string'
          ? compareTexts(
              ...(direction.startsWith('i') ? ([lower(x), lower(String(y))] as const) : ([x, String(y)] as const)),
            )
          : Number(x) - Number(y)
      if (difference !== 0) return direction.endsWith('desc') ? -difference : difference
    }
    return complete && terms.every((term) => term.endsWith('desc')) ? b.key - a.key : a.key - b.key
  }
}
