import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { buildSearchPlan } from '../src/search/search-plan.ts'
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
} from './reference-search.ts'

const random = randomNumbers(20_240_531)
const rows = randomRows(random, 300)
let connection: Awaited<ReturnType<typeof connectWith>>

beforeAll(async () => {
  connection = await connectWith(rows)
})
afterAll(async () => {
  await connection[Symbol.asyncDispose]()
})

/** The keys of the rows that a search finds. */
async function search(filter: string[], rootJunction?: 'AND' | 'OR', query?: string): Promise<number[]> {
  const plan = buildSearchPlan({ filter, rootJunction, query, paging: { paging: false } }, resource)
  const where = sql.join([sql`true`, ...plan.where], sql` and `)
  const statement = sql<{
    key: number
  }>`select r.key from thing as r where ${where} order by ${sql.join(plan.order)} limit ${plan.limit}`
  return (await statement.execute(connection.db)).rows.map(({ key }) => key)
}

/** The keys of the rows that a search should find. */
const expected = (matches: (row: Row) => boolean): number[] => rows.filter(matches).map(({ key }) => key)

type Value = string | number | boolean | Date
type Name = 'id' | 'name' | 'size' | 'amount' | 'created' | 'disabled' | 'status'
/** Does an operator match a stored value, given the value in the filter? */
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

/** The operators of each property, with their models. */
const models: Record<Name, Record<string, Model>> = {
  id: { ...anyValue, ...orderedValue },
  name: { ...anyValue, ...textValue },
  size: { ...anyValue, ...orderedValue },
  amount: { ...anyValue, ...orderedValue },
  created: { ...anyValue, ...orderedValue },
  disabled: anyValue,
  status: anyValue,
}

const toFilterText = (value: Value): string => (value instanceof Date ? value.toISOString() : String(value))

/** A stored value, a part of one, or a random text. */
function someValue(name: Name): Value {
  const stored = pick(random, rows)[name]
  if (name !== 'name') return stored ?? someValue(name)
  if (typeof stored !== 'string' || random() < 0.3) return randomText(random, 2)
  const letters = [...stored]
  const from = Math.floor(random() * letters.length)
  const piece = random() < 0.3 ? stored : letters.slice(from, from + 2).join('')
  return random() < 0.3 ? piece.toUpperCase().normalize('NFD') : piece
}

/** Is a filter with this value invalid, because it has nothing to search for? */
const isInvalid = (name: Name, operator: string, value: Value): boolean =>
  name === 'name' &&
  ((value === '' && /like|With/.test(operator)) || (operator.endsWith('token') && words(String(value)).length === 0))

describe('a filter', () => {
  const cases = Object.entries(models).flatMap(([name, operators]) =>
    Object.entries(operators).map(([operator, model]) => ({ name: name as Name, operator, model })),
  )

  it.each(cases)('with $name:$operator finds the same rows as the model', async ({ name, operator, model }) => {
    let matched = 0
    for (let round = 0; round < 25; round++) {
      const value = someValue(name)
      if (isInvalid(name, operator, value)) continue
      const keys = expected((row) => model(row[name], value))
      matched += keys.length
      expect({ value, keys: await search([`${name}:${operator}:${toFilterText(value)}`]) }).toEqual({ value, keys })
    }
    expect(matched).toBeGreaterThan(0)
  })
})

describe('a filter with a list', () => {
  it.each(Object.keys(models) as Name[])(
    'finds by %s the rows inside (in) and outside (!in) the list',
    async (name) => {
      for (let round = 0; round < 15; round++) {
        const values = Array.from({ length: 1 + Math.floor(random() * 4) }, () => someValue(name)).filter(
          (value) => value !== '' && !toFilterText(value).includes(','),
        )
        if (values.length === 0) continue
        const list = `[${values.map(toFilterText).join(',')}]`
        const within = (row: Row) => values.some((value) => same(row[name], value))
        expect(await search([`${name}:in:${list}`])).toEqual(expected(within))
        expect(await search([`${name}:!in:${list}`])).toEqual(expected((row) => row[name] !== null && !within(row)))
      }
    },
  )
})

describe('a missing value', () => {
  it.each([...Object.keys(models), 'tags'] as (Name | 'tags')[])('of %s matches null and not !null', async (name) => {
    expect(await search([`${name}:null`])).toEqual(expected((row) => row[name] === null))
    expect(await search([`${name}:!null`])).toEqual(expected((row) => row[name] !== null))
  })

  it('matches neither empty nor !empty for a text', async () => {
    expect(await search(['name:empty'])).toEqual(expected(({ name }) => name === ''))
    expect(await search(['name:!empty'])).toEqual(expected(({ name }) => name !== null && name !== ''))
  })

  it('matches empty for a collection', async () => {
    expect(await search(['tags:empty'])).toEqual(expected(({ tags }) => !tags?.length))
    expect(await search(['tags:!empty'])).toEqual(expected(({ tags }) => !!tags?.length))
  })
})

describe('a filter by a collection', () => {
  it('with eq and ne compares the size', async () => {
    for (const size of [0, 1, 2, 3, 9]) {
      expect(await search([`tags:eq:${size}`])).toEqual(expected(({ tags }) => tags?.length === size))
      expect(await search([`tags:ne:${size}`])).toEqual(expected(({ tags }) => tags?.length !== size))
    }
  })

  it('with in finds collections that contain any of the elements', async () => {
    const elements = [...new Set(rows.flatMap(({ tags }) => tags ?? []))].filter((tag) => tag && !tag.includes(','))
    for (let round = 0; round < 40; round++) {
      const wanted = [pick(random, elements), pick(random, elements)]
      const shares = ({ tags }: Row) => !!tags?.some((tag) => wanted.includes(tag))
      expect(await search([`tags:in:[${wanted.join(',')}]`])).toEqual(expected(shares))
      expect(await search([`tags:!in:[${wanted.join(',')}]`])).toEqual(
        expected((row) => row.tags !== null && !shares(row)),
      )
    }
  })

  it('of related records finds rows with at least one matching record', async () => {
    expect(await search(['labels.text:like:%'])).toEqual(
      expected(({ tags }) => !!tags?.some((tag) => tag.includes('%'))),
    )
    expect(await search(['labels.text:ne:a'])).toEqual(expected(({ tags }) => !!tags?.some((tag) => tag !== 'a')))
  })
})

describe('several filters', () => {
  const one = (row: Row) => row.size === 1
  const active = (row: Row) => row.status === 'ACTIVE'
  const isA = ({ name }: Row) => !!name?.toLowerCase().includes('a')

  it('are combined with AND by default, with OR on request, and always with the query', async () => {
    const filter = ['size:eq:1', 'status:eq:ACTIVE']
    expect(await search(filter)).toEqual(expected((row) => one(row) && active(row)))
    expect(await search(filter, 'AND')).toEqual(expected((row) => one(row) && active(row)))
    expect(await search(filter, 'OR')).toEqual(expected((row) => one(row) || active(row)))
    expect(await search(filter, 'OR', 'a')).toEqual(expected((row) => isA(row) && (one(row) || active(row))))
    expect(await search(['identifiable:token:A'])).toEqual(expected(isA))
    expect(await search(['identifiable:!token:A'])).toEqual(expected((row) => !isA(row)))
  })

  it('with OR do not bypass a condition of the caller', async () => {
    const plan = buildSearchPlan(
      { filter: ['size:null', 'size:!null'], rootJunction: 'OR', query: 'a', paging: {} },
      resource,
    )
    const where = sql.join([sql`r.key <= 100`, ...plan.where], sql` and `)
    const { rows: found } = await sql<{ key: number }>`select r.key from thing as r where ${where}`.execute(
      connection.db,
    )
    expect(found.length).toBeGreaterThan(0)
    expect(found.filter(({ key }) => key > 100)).toEqual([])
  })
})

describe('PostgreSQL', () => {
  it('accepts every number, date and text that the parser accepts', async () => {
    const numbers = ['9'.repeat(30), `-${'9'.repeat(18)}`, '1e99', '1e-99', `0.${'1'.repeat(30)}e-99`, '-0']
    const dates = ['0001-01-01T00:00+14:59', '9999-12-31T23:59:59.999999999-14:59', '2024-02-29', '2024-01-01T00:00-00']
    for (const name of ['size', 'amount']) for (const value of numbers) await search([`${name}:lt:${value}`])
    await search([`amount:in:[${numbers.join(',')}]`])
    for (const value of dates) await search([`created:lt:${value}`])
    await search([`created:!in:[${dates.join(',')}]`])
    await search([`status:in:[${statuses.join(',')}]`, 'disabled:in:[true,false]', `name:like:${'%'.repeat(1000)}`])
    expect(await search(['tags:eq:999999999'])).toEqual([])
  })
})

describe('these tests', () => {
  it('cover every operator', () => {
    const covered = [...Object.values(models).flatMap(Object.keys), 'in', '!in', 'null', '!null', 'empty', '!empty']
    expect([...filterOperators.keys()].toSorted()).toEqual([...new Set(covered)].toSorted())
  })
})
