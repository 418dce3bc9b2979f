import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { searchPlan } from '../src/search/plan.ts'
import { filterOperators } from '../src/search/operators.ts'
import {
  connectWith,
  lower,
  pick,
  randomNumbers,
  randomRows,
  randomText,
  resource,
  statuses,
  type Row,
} from './search-model.ts'

const random = randomNumbers(20_240_531)
const rows = randomRows(random, 300)
let connection: Awaited<ReturnType<typeof connectWith>>

beforeAll(async () => {
  connection = await connectWith(rows)
})
afterAll(async () => {
  await connection[Symbol.asyncDispose]()
})

async function found(filter: string[], rootJunction?: 'AND' | 'OR', query?: string): Promise<number[]> {
  const plan = searchPlan({ filter, rootJunction, query, paging: { paging: false } }, resource)
  const where = sql.join([sql`true`, ...plan.where], sql` and `)
  const statement = sql<{
    key: number
  }>`select r.key from thing as r where ${where} order by ${sql.join(plan.order)} limit ${plan.limit}`
  return (await statement.execute(connection.db)).rows.map(({ key }) => key)
}

const expected = (holds: (row: Row) => boolean): number[] => rows.filter(holds).map(({ key }) => key)

type Value = string | number | boolean | Date
type Name = 'id' | 'name' | 'size' | 'amount' | 'created' | 'disabled' | 'status'
type Model = (actual: Value | null, wanted: Value) => boolean

const key = (value: Value): string | number =>
  value instanceof Date ? value.getTime() : typeof value === 'boolean' ? String(value) : value
const same: Model = (actual, wanted) => actual !== null && key(actual) === key(wanted)
const ordered =
  (test: (a: string | number, b: string | number) => boolean): Model =>
  (actual, wanted) =>
    actual !== null && test(key(actual), key(wanted))
const texts =
  (test: (actual: string, wanted: string) => boolean): Model =>
  (actual, wanted) =>
    actual !== null && test(String(actual), String(wanted))
const folded = (test: (actual: string, wanted: string) => boolean): Model =>
  texts((actual, wanted) => test(lower(actual), lower(wanted)))
const negated =
  (model: Model): Model =>
  (actual, wanted) =>
    !model(actual, wanted)

const contains = (a: string, b: string) => a.includes(b)
const starts = (a: string, b: string) => a.startsWith(b)
const ends = (a: string, b: string) => a.endsWith(b)
const words = (text: string) => text.split(/[^\p{L}\p{M}\p{N}]+/u).filter(Boolean)
const token = folded((actual, wanted) => words(wanted).every((word) => actual.includes(word)))

const anyValue: Record<string, Model> = { eq: same, ne: negated(same), neq: negated(same), '!eq': negated(same) }
const orderedValue: Record<string, Model> = {
  gt: ordered((a, b) => a > b),
  ge: ordered((a, b) => a >= b),
  gte: ordered((a, b) => a >= b),
  lt: ordered((a, b) => a < b),
  le: ordered((a, b) => a <= b),
  lte: ordered((a, b) => a <= b),
}
const textValue: Record<string, Model> = {
  ieq: texts((a, b) => lower(a.normalize('NFC')) === lower(b.normalize('NFC'))),
  like: texts(contains),
  '!like': negated(texts(contains)),
  $like: texts(starts),
  '!$like': negated(texts(starts)),
  like$: texts(ends),
  '!like$': negated(texts(ends)),
  ilike: folded(contains),
  '!ilike': negated(folded(contains)),
  $ilike: folded(starts),
  startsWith: folded(starts),
  '!$ilike': negated(folded(starts)),
  ilike$: folded(ends),
  endsWith: folded(ends),
  '!ilike$': negated(folded(ends)),
  token,
  '!token': negated(token),
}

const fits: Record<Name, Record<string, Model>> = {
  id: { ...anyValue, ...orderedValue },
  name: { ...anyValue, ...textValue },
  size: { ...anyValue, ...orderedValue },
  amount: { ...anyValue, ...orderedValue },
  created: { ...anyValue, ...orderedValue },
  disabled: anyValue,
  status: anyValue,
}

const wire = (value: Value): string => (value instanceof Date ? value.toISOString() : String(value))

/** Values that occur, pieces of them, and some that do not. */
function someValue(name: Name): Value {
  const stored = pick(random, rows)[name]
  if (name !== 'name') return stored ?? someValue(name)
  if (typeof stored !== 'string' || random() < 0.3) return randomText(random, 2)
  const letters = [...stored]
  const from = Math.floor(random() * letters.length)
  const piece = random() < 0.3 ? stored : letters.slice(from, from + 2).join('')
  return random() < 0.3 ? piece.toUpperCase().normalize('NFD') : piece
}

const refused = (name: Name, operator: string, value: Value): boolean =>
  name === 'name' &&
  ((value === '' && /like|With/.test(operator)) || (operator.endsWith('token') && words(String(value)).length === 0))

describe('an operator with a value', () => {
  const cases = Object.entries(fits).flatMap(([name, models]) =>
    Object.entries(models).map(([operator, model]) => ({ name: name as Name, operator, model })),
  )

  it.each(cases)('$operator finds by $name what the model finds', async ({ name, operator, model }) => {
    let matched = 0
    for (let round = 0; round < 25; round++) {
      const value = someValue(name)
      if (refused(name, operator, value)) continue
      const wanted = expected((row) => model(row[name], value))
      matched += wanted.length
      expect({ value, keys: await found([`${name}:${operator}:${wire(value)}`]) }).toEqual({ value, keys: wanted })
    }
    expect(matched).toBeGreaterThan(0)
  })
})

describe('a list', () => {
  it.each(Object.keys(fits) as Name[])('of %s finds what is in it, and rows with a value that is not', async (name) => {
    for (let round = 0; round < 15; round++) {
      const values = Array.from({ length: 1 + Math.floor(random() * 4) }, () => someValue(name)).filter(
        (value) => value !== '' && !wire(value).includes(','),
      )
      if (values.length === 0) continue
      const list = `[${values.map(wire).join(',')}]`
      const within = (row: Row) => values.some((value) => same(row[name], value))
      expect(await found([`${name}:in:${list}`])).toEqual(expected(within))
      expect(await found([`${name}:!in:${list}`])).toEqual(expected((row) => row[name] !== null && !within(row)))
    }
  })
})

describe('a missing value', () => {
  it.each([...Object.keys(fits), 'tags'] as (Name | 'tags')[])('of %s is told from one that is there', async (name) => {
    expect(await found([`${name}:null`])).toEqual(expected((row) => row[name] === null))
    expect(await found([`${name}:!null`])).toEqual(expected((row) => row[name] !== null))
  })

  it('is not an empty text', async () => {
    expect(await found(['name:empty'])).toEqual(expected(({ name }) => name === ''))
    expect(await found(['name:!empty'])).toEqual(expected(({ name }) => name !== null && name !== ''))
  })

  it('is an empty collection', async () => {
    expect(await found(['tags:empty'])).toEqual(expected(({ tags }) => !tags?.length))
    expect(await found(['tags:!empty'])).toEqual(expected(({ tags }) => !!tags?.length))
  })
})

describe('a collection', () => {
  it('is compared by its size', async () => {
    for (const size of [0, 1, 2, 3, 9]) {
      expect(await found([`tags:eq:${size}`])).toEqual(expected(({ tags }) => tags?.length === size))
      expect(await found([`tags:ne:${size}`])).toEqual(expected(({ tags }) => tags?.length !== size))
    }
  })

  it('is found by any of its elements', async () => {
    const elements = [...new Set(rows.flatMap(({ tags }) => tags ?? []))].filter((tag) => tag && !tag.includes(','))
    for (let round = 0; round < 40; round++) {
      const wanted = [pick(random, elements), pick(random, elements)]
      const shares = ({ tags }: Row) => !!tags?.some((tag) => wanted.includes(tag))
      expect(await found([`tags:in:[${wanted.join(',')}]`])).toEqual(expected(shares))
      expect(await found([`tags:!in:[${wanted.join(',')}]`])).toEqual(
        expected((row) => row.tags !== null && !shares(row)),
      )
    }
  })

  it('of related records is searched for one that fits', async () => {
    expect(await found(['labels.text:like:%'])).toEqual(
      expected(({ tags }) => !!tags?.some((tag) => tag.includes('%'))),
    )
    expect(await found(['labels.text:ne:a'])).toEqual(expected(({ tags }) => !!tags?.some((tag) => tag !== 'a')))
  })
})

describe('filters together', () => {
  const one = (row: Row) => row.size === 1
  const active = (row: Row) => row.status === 'ACTIVE'
  const isA = ({ name }: Row) => !!name?.toLowerCase().includes('a')

  it('all hold, or with OR any, and the query always', async () => {
    const filter = ['size:eq:1', 'status:eq:ACTIVE']
    expect(await found(filter)).toEqual(expected((row) => one(row) && active(row)))
    expect(await found(filter, 'AND')).toEqual(expected((row) => one(row) && active(row)))
    expect(await found(filter, 'OR')).toEqual(expected((row) => one(row) || active(row)))
    expect(await found(filter, 'OR', 'a')).toEqual(expected((row) => isA(row) && (one(row) || active(row))))
    expect(await found(['identifiable:token:A'])).toEqual(expected(isA))
    expect(await found(['identifiable:!token:A'])).toEqual(expected((row) => !isA(row)))
  })

  it('never reach past the condition of the caller', async () => {
    const plan = searchPlan(
      { filter: ['size:null', 'size:!null'], rootJunction: 'OR', query: 'a', paging: {} },
      resource,
    )
    const where = sql.join([sql`r.key = 1`, ...plan.where], sql` and `)
    const { rows: reached } = await sql<{ key: number }>`select r.key from thing as r where ${where}`.execute(
      connection.db,
    )
    expect(reached.every((row) => row.key === 1)).toBe(true)
  })
})

describe('PostgreSQL', () => {
  it('takes every value that the grammar takes', async () => {
    const numbers = ['9'.repeat(30), `-${'9'.repeat(18)}`, '1e99', '1e-99', `0.${'1'.repeat(30)}e-99`, '-0']
    const dates = ['0001-01-01T00:00+14:59', '9999-12-31T23:59:59.999999999-14:59', '2024-02-29', '2024-01-01T00:00-00']
    for (const name of ['size', 'amount']) for (const value of numbers) await found([`${name}:lt:${value}`])
    await found([`amount:in:[${numbers.join(',')}]`])
    for (const value of dates) await found([`created:lt:${value}`])
    await found([`created:!in:[${dates.join(',')}]`])
    await found([`status:in:[${statuses.join(',')}]`, 'disabled:in:[true,false]', `name:like:${'%'.repeat(1000)}`])
    expect(await found(['tags:eq:999999999'])).toEqual([])
  })

  it('knows every operator there is', () => {
    const covered = [...Object.values(fits).flatMap(Object.keys), 'in', '!in', 'null', '!null', 'empty', '!empty']
    expect([...filterOperators.keys()].toSorted()).toEqual([...new Set(covered)].toSorted())
  })
})
