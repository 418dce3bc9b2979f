import { describe, expect, it } from '@jest/globals'
import { Type } from 'typebox'
import { body, checker, contract, named } from '../src/index.ts'

const Thing = contract(
  'Thing',
  body({
    ...named,
    size: Type.Enum(['S', 'L']),
    tags: Type.Optional(Type.Array(Type.Object({ a: Type.Integer() }), { uniqueItems: true, maxItems: 3 })),
  }),
)
const check = checker(Thing)
const violations = (value: unknown) =>
  'violations' in check(value) ? (check(value) as { violations: object[] }).violations : []

describe('checking a body', () => {
  it('names every violation at once, in plain words', () => {
    expect(violations({ name: ' ', colour: 'red', tags: [{ a: 1 }, { a: 1 }] })).toEqual([
      { pointer: '/size', detail: 'is required' },
      { pointer: '/colour', detail: 'is not known here' },
      { pointer: '/name', detail: 'must not be blank' },
      { pointer: '/tags', detail: 'must not contain duplicates' },
    ])
  })

  it('takes one line for a name', () => {
    expect(violations({ name: 'a\r\nb', size: 'S' })).toEqual([
      { pointer: '/name', detail: 'must be one line, without control characters' },
    ])
  })

  it('takes back what the service assigned, and looks at nothing of it', () => {
    expect(violations({ name: 'a', size: 'S', id: 1, created: {}, displayName: [] })).toEqual([])
  })

  it('takes a field of the prototype for no field', () => {
    expect(violations(JSON.parse('{"name":"a","size":"S","__proto__":{"x":1}}'))).toEqual([
      { pointer: '/__proto__', detail: 'is not known here' },
    ])
    expect(violations(Object.create({ name: 'a', size: 'S' }))).toHaveLength(2)
  })

  it('stops at the first violation of a value that is too large to be honest', () => {
    const hostile = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 1]))
    expect(violations(hostile)).toHaveLength(1)
    expect(violations({ name: 'a', size: 'S', tags: Array.from({ length: 100_000 }, () => ({ a: 'x' })) })).toEqual([
      { pointer: '/tags', detail: 'must have at most 3 items' },
    ])
  })
})

describe('checking a query', () => {
  it('reads numbers, booleans and lists from text', () => {
    const Query = contract(
      'Query',
      Type.Object({ page: Type.Integer(), all: Type.Boolean(), filter: Type.Array(Type.String()) }),
    )
    expect(checker(Query, 'query')({ page: '2', all: 'true', filter: 'a' })).toEqual({
      value: { page: 2, all: true, filter: ['a'] },
    })
  })
})
