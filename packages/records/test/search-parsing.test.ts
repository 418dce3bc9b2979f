import { describe, expect, it } from '@jest/globals'
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely'
import type { SearchRequest } from '@sluice/contracts'
import { buildSearchPlan, type SearchResource } from '../src/search/search-plan.ts'
import { InvalidSearch } from '../src/search/invalid-search.ts'

const resource: SearchResource = {
  idColumn: 'r.id',
  properties: {
    id: { type: 'uid', column: 'r.uid' },
    name: { type: 'string', column: 'r.name' },
    displayName: { type: 'string', column: sql`coalesce(r.title, r.name)` },
    size: { type: 'number', column: 'r.size' },
    created: { type: 'date-time', column: 'r.created_at' },
    disabled: { type: 'boolean', column: 'r.disabled' },
    status: { type: 'enum', values: ['ACTIVE', 'INACTIVE'], column: 'r.status' },
    tags: { type: 'strings', column: 'r.tags' },
    'groups.name': {
      type: 'string',
      column: 'g.name',
      toExists: (condition) => sql`exists (select from g where ${condition})`,
    },
  },
  query: (text) => sql`r.name = ${text} or r.code = ${text}`,
}

const compiler = new Kysely<never>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

const plan = (request: Partial<SearchRequest>, of = resource) => buildSearchPlan({ paging: {}, ...request }, of)

function where(request: Partial<SearchRequest>): { text: string; parameters: readonly unknown[] } {
  const { sql: text, parameters } = sql`${sql.join(plan(request).where, sql` and `)}`.compile(compiler)
  return { text, parameters }
}

const order = (terms: string[] | undefined, of = resource): string =>
  sql.join(plan({ ...(terms && { order: terms }) }, of).order).compile(compiler).sql

function violations(request: Partial<SearchRequest>, of = resource): { pointer: string; detail: string }[] {
  try {
    plan(request, of)
  } catch (error) {
    if (error instanceof InvalidSearch) return error.violations
    throw error
  }
  return []
}

const detailOf = (filter: string): string | undefined => violations({ filter: [filter] })[0]?.detail

describe('a filter', () => {
  it('binds everything after the second colon as the value', () => {
    expect(where({ filter: ['name:eq:a:b::c'] })).toEqual({ text: '(("r"."name" = $1))', parameters: ['a:b::c'] })
  })

  it('accepts an empty value with eq', () => {
    expect(where({ filter: ['name:eq:'] }).parameters).toEqual([''])
  })

  it('binds its value as a parameter, never as SQL text', () => {
    const hostile = `'"; drop table r; --`
    for (const operator of ['eq', 'ne', 'ieq', 'like', '!ilike$', 'startsWith']) {
      const { text, parameters } = where({ filter: [`name:${operator}:${hostile}`] })
      expect(text).not.toContain('drop')
      expect(parameters.join('')).toContain(hostile)
    }
    expect(where({ filter: [`tags:in:[${hostile}]`] })).toEqual({
      text: '(("r"."tags" && $1))',
      parameters: [[hostile]],
    })
    expect(detailOf(`name${hostile}:eq:a`)).toMatch(/^names /)
  })

  it('puts an SQL expression in brackets and wraps a related record in exists', () => {
    expect(where({ filter: ['displayName:null'] }).text).toBe('(((coalesce(r.title, r.name)) is null))')
    expect(where({ filter: ['groups.name:eq:a'] }).text).toBe('((exists (select from g where ("g"."name" = $1))))')
  })

  it.each([
    ['2024-02-29', '2024-02-29T00:00:00.0Z'],
    ['2024-05-31T12:30', '2024-05-31T12:30:00.0Z'],
    ['2024-05-31T12:30:05.1234567+05:30', '2024-05-31T12:30:05.123456+05:30'],
    ['2024-05-31T12:30:05-0800', '2024-05-31T12:30:05.0-0800'],
  ])('reads the date %s as %s', (text, bound) => {
    expect(where({ filter: [`created:ge:${text}`] })).toEqual({
      text: '(("r"."created_at" >= $1::timestamptz))',
      parameters: [bound],
    })
  })

  it.each(
    `2024-02-30 2023-02-29 2024-13-01 0000-01-01 24-01-01 2024-05-31T24:00 2024-05-31T12 2024-05-31T12:30:60 2024-05-31T12:30Z+1
     2024-05-31T12:30:00+15:00 yesterday now infinity 20240531 2024-05-31Z 1717113600000`.split(/\s+/),
  )('refuses the date %s', (text) => {
    expect(detailOf(`created:gt:${text}`)).toMatch(/^must compare with/)
  })

  it('compares whole numbers as bigint, which an index supports, and others as numeric', () => {
    expect(where({ filter: ['size:gt:12'] }).text).toBe('(("r"."size" > $1::bigint))')
    expect(where({ filter: ['size:gt:1.5e3'] }).text).toBe('(("r"."size" > $1::numeric))')
    expect(where({ filter: ['size:in:[1,2.5]'] })).toEqual({
      text: '(("r"."size" = any($1::numeric[])))',
      parameters: [['1', '2.5']],
    })
  })

  it.each(['', ' 1', '1 ', '0x1', 'NaN', 'Infinity', '1,5', '1e999', '--1', '1'.repeat(31), '٣'])(
    'refuses the number "%s"',
    (text) => {
      expect(detailOf(`size:eq:${text}`)).toBe('must compare with a number')
    },
  )

  it.each([
    ['size', 'must have the form'],
    ['', 'must have the form'],
    [':eq:a', 'names "", which is not one of: id, name'],
    ['password:eq:a', 'names "password", which is not one of: id, name'],
    ['constructor:null', 'names "constructor", which is not one of'],
    ['__proto__:null', 'names "__proto__", which is not one of'],
    ['Name:eq:a', 'names "Name"'],
    ['name:EQ:a', 'uses "EQ", which is not an operator. Operators: eq, ne, neq, !eq, ieq, gt'],
    ['name::a', 'uses "", which is not an operator'],
    ['name:constructor:a', 'uses "constructor"'],
    ['name:!startsWith:a', 'uses "!startsWith"'],
    ['name:eq', 'needs a value: write :value after "eq"'],
    ['name:in', 'needs a value'],
    ['name:null:', 'must end after "null", which takes no value'],
    ['tags:!empty:x', 'must end after "!empty", which takes no value'],
    ['name:like:', 'needs a text to search for'],
    ['name:token:', 'needs at least one letter'],
    ['name:token: -_%', 'needs at least one letter'],
    [
      `name:token:${Array.from({ length: 21 }, (_, index) => `w${index}`).join(' ')}`,
      'must not have more than 20 words',
    ],
    ['name:in:a,b', 'needs a list in brackets'],
    ['name:in:[', 'needs a list in brackets'],
    ['name:in:[]', 'must not have an empty item'],
    ['name:in:[a,,b]', 'must not have an empty item'],
    [`name:in:[${'a,'.repeat(500)}a]`, 'must not list more than 500 items'],
    ['size:in:[1,two]', 'must compare with a number'],
    [`name:eq:${'x'.repeat(1001)}`, 'must compare with at most 1000 characters'],
    ['name:eq:a\0b', 'must not contain the NUL character'],
    ['name:eq:\ud83d', 'must be well-formed Unicode'],
    ['id:eq:42', 'must compare with an id'],
    ['disabled:eq:TRUE', 'must compare with true or false'],
    ['disabled:eq:1', 'must compare with true or false'],
    [
      'disabled:gt:true',
      'uses the operator "gt", which this property does not support. Supported operators: eq, ne, neq, !eq, in',
    ],
    ['status:eq:GONE', 'must compare with one of: ACTIVE, INACTIVE'],
    ['status:in:[ACTIVE,GONE]', 'must compare with one of: ACTIVE, INACTIVE'],
    ['status:like:ACT', 'uses the operator "like"'],
    ['name:gt:a', 'uses the operator "gt"'],
    ['size:empty', 'uses the operator "empty"'],
    ['tags:ilike:a', 'uses the operator "ilike"'],
    ['tags:eq:a', 'must compare the size of a collection with a whole number; to find members use in:[a]'],
  ])('%j is refused', (filter, detail) => {
    expect(detailOf(filter)).toEqual(expect.stringContaining(detail))
  })

  it('is quoted in messages without control characters and shortened', () => {
    const detail = detailOf(`${'\u001b[31m'.repeat(50)}:eq:a`)!
    expect(detail).not.toContain('\u001b')
    expect(detail.length).toBeLessThan(1000)
  })

  it('accepts 500 items and words of any script', () => {
    expect(where({ filter: [`name:in:[${'a,'.repeat(499)}a]`] }).parameters).toEqual([Array(500).fill('a')])
    expect(where({ filter: ['name:token:Zoë, हिन्दी-42 Zoë'] }).parameters).toEqual(['%Zoë%', '%हिन्दी%', '%42%'])
  })

  it('by identifiable searches each word like the query', () => {
    expect(where({ filter: ['identifiable:token:a b'] })).toEqual({
      text: '(((r.name = $1 or r.code = $2) and (r.name = $3 or r.code = $4)))',
      parameters: ['a', 'a', 'b', 'b'],
    })
    expect(where({ filter: ['identifiable:!ilike:a b'] }).text).toBe('((((r.name = $1 or r.code = $2)) is not true))')
    expect(detailOf('identifiable:gt:a')).toBe('uses "gt"; identifiable supports: token, !token, ilike, !ilike')
    expect(violations({ filter: ['identifiable:token:a'] }, { ...resource, query: undefined })).toHaveLength(1)
  })
})

describe('the junction', () => {
  it('is in brackets, so that OR does not affect other conditions', () => {
    const filter = ['name:eq:a', 'size:eq:1']
    expect(where({ filter }).text).toBe('(("r"."name" = $1) and ("r"."size" = $2::bigint))')
    expect(where({ filter, rootJunction: 'OR', query: 'q' }).text).toBe(
      '(r.name = $1 or r.code = $2) and (("r"."name" = $3) or ("r"."size" = $4::bigint))',
    )
  })

  it('adds no condition without filters and with a blank query', () => {
    expect(plan({ filter: [], rootJunction: 'OR', query: '  ' }).where).toEqual([])
  })
})

describe('an order', () => {
  it('ends with the id, and puts missing values last', () => {
    expect(order(undefined)).toBe('"r"."id" asc')
    expect(order(['name', 'size:desc', 'displayName:idesc'])).toBe(
      '"r"."name" asc nulls last, "r"."size" desc nulls last, lower((coalesce(r.title, r.name))) desc nulls last, "r"."id" asc',
    )
  })

  it('has the same direction for the id if all properties are required, so that an index can be read backwards', () => {
    const of: SearchResource = {
      ...resource,
      properties: { name: { type: 'string', column: 'r.name', required: true }, size: resource.properties['size']! },
    }
    expect(order(['name:idesc'], of)).toBe('lower("r"."name") desc, "r"."id" desc')
    expect(order(['name'], of)).toBe('"r"."name" asc, "r"."id" asc')
    expect(order(['name:desc', 'size:desc'], of)).toBe('"r"."name" desc, "r"."size" desc nulls last, "r"."id" asc')
  })

  it('is the default order if the request has none', () => {
    const named = { ...resource, defaultOrder: ['name:iasc'] }
    expect(order(undefined, named)).toBe('lower("r"."name") asc nulls last, "r"."id" asc')
    expect(order(['size'], named)).toBe('"r"."size" asc nulls last, "r"."id" asc')
  })

  it('throws an internal error instead of InvalidSearch if the default order of the resource is invalid', () => {
    expect(() => plan({}, { ...resource, defaultOrder: ['nmae'] })).not.toThrow(InvalidSearch)
    expect(() => plan({}, { ...resource, defaultOrder: ['nmae'] })).toThrow(/nmae/)
  })

  it.each([
    ['password', 'names "password"'],
    ['name:up', 'must end in one of the directions: asc, desc, iasc, idesc'],
    ['name:', 'must end in one of the directions'],
    ['name:asc,size:desc', 'must end in one of the directions'],
    ['tags', 'which has many values'],
    ['groups.name', 'which has many values'],
    ['size:iasc', 'must order by asc or desc'],
  ])('%s is refused', (term, detail) => {
    expect(violations({ order: [term] })).toEqual([{ pointer: '/order/0', detail: expect.stringContaining(detail) }])
  })
})

describe('paging', () => {
  it.each([
    [{}, { limit: 50, offset: 0, page: 1, pageSize: 50, counted: true }],
    [
      { page: 3, pageSize: 20, total: false },
      { limit: 20, offset: 40, page: 3, pageSize: 20, counted: false },
    ],
    [
      { paging: false, page: 9, pageSize: 5 },
      { limit: 1000, offset: 0, page: 1, pageSize: 1000, counted: true },
    ],
    [
      { page: 101, pageSize: 1000 },
      { limit: 1000, offset: 100_000, page: 101, pageSize: 1000, counted: true },
    ],
  ])('with %j becomes %j', (paging, expected) => {
    expect(plan({ paging })).toMatchObject(expected)
  })

  it('is refused beyond row 100,000, with a hint to use the cursor', () => {
    expect(violations({ paging: { page: 102, pageSize: 1000 } })).toEqual([
      { pointer: '/paging/page', detail: expect.stringContaining('follow the cursor') },
    ])
  })
})

describe('an invalid search', () => {
  it('returns all violations', () => {
    const request = {
      query: 'a\0',
      filter: ['nmae:eq:a', 'name:eq:fine', 'size:eq:x'],
      order: ['name', 'size:up', 'name:desc'],
      paging: { page: 1_000_000 },
    }
    expect(violations(request).map(({ pointer }) => pointer)).toEqual([
      '/query',
      '/filter/0',
      '/filter/2',
      '/order/1',
      '/order/2',
      '/paging/page',
    ])
  })

  it('has a query although the resource supports none', () => {
    expect(violations({ query: 'a' }, { ...resource, query: undefined })).toEqual([
      { pointer: '/query', detail: 'is not supported here: use filter' },
    ])
  })
})
