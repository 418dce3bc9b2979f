import { describe, expect, it } from '@jest/globals'
import { Type } from 'typebox'
import { defineRequestBody, createContractChecker, defineContract, namedFields, allRoles } from '../src/index.ts'

const Thing = defineContract(
  'Thing',
  defineRequestBody({
    ...namedFields,
    size: Type.Enum(['S', 'L']),
    tags: Type.Optional(Type.Array(Type.Object({ a: Type.Integer() }), { uniqueItems: true, maxItems: 3 })),
  }),
)
const check = createContractChecker(Thing)
const violations = (value: unknown) =>
  'violations' in check(value) ? (check(value) as { violations: object[] }).violations : []

describe('the check of a body', () => {
  it('lists every violation in words', () => {
    expect(violations({ name: ' ', colour: 'red', tags: [{ a: 1 }, { a: 1 }] })).toEqual([
      { pointer: '/size', detail: 'is required' },
      { pointer: '/colour', detail: 'is not known here' },
      { pointer: '/name', detail: 'must not be blank' },
      { pointer: '/tags', detail: 'must not contain duplicates' },
    ])
  })

  it('distinguishes a body that is only too large from a malformed one', () => {
    const Bounded = defineContract(
      'Bounded',
      Type.Object({
        text: Type.Optional(Type.Union([Type.String({ maxLength: 3 }), Type.Null()])),
        list: Type.Optional(Type.Array(Type.Integer({ maximum: 9 }), { maxItems: 2 })),
      }),
    )
    const check = createContractChecker(Bounded)
    expect(check({ text: 'long', list: [10, 1, 2] })).toMatchObject({ onlyTooLarge: true })
    expect(check({ text: 'long', list: ['a'] })).not.toHaveProperty('onlyTooLarge')
    expect(check({ text: 'x'.repeat(1_000_000) })).toMatchObject({ onlyTooLarge: true })
    expect(createContractChecker(Bounded, 'query')({ text: 'long' })).not.toHaveProperty('onlyTooLarge')
  })

  it('rejects a name with line breaks', () => {
    expect(violations({ name: 'a\r\nb', size: 'S' })).toEqual([
      { pointer: '/name', detail: 'must be one line, without control characters' },
    ])
  })

  it('lists the allowed values in the first violation only', () => {
    const Roles = defineContract(
      'Roles',
      Type.Object({ roles: Type.Array(Type.Enum([...allRoles]), { maxItems: 50 }) }),
    )
    const checked = createContractChecker(Roles)({ roles: ['A', 'ROLE_SEE_VIEW', 'B'] }) as { violations: object[] }
    expect(checked.violations).toEqual([
      { pointer: '/roles/0', detail: expect.stringContaining('ROLE_SEE_VIEW') },
      { pointer: '/roles/2', detail: 'must be one of the values listed above' },
    ])
  })

  it('describes a violated pattern in words', () => {
    const Key = defineContract('Key', Type.Object({ key: Type.String({ pattern: '^[!-~]*$' }) }))
    expect(createContractChecker(Key)({ key: 'a b' })).toEqual({
      violations: [{ pointer: '/key', detail: expect.stringContaining('without spaces') }],
    })
  })

  it('accepts read-only properties of the right type', () => {
    const id = '2f1c8f0e-5f0b-4c7e-9b44-0d9c7e1f5a10'
    expect(violations({ name: 'a', size: 'S', id, created: '2026-11-24T10:00:00Z', displayName: 'b' })).toEqual([])
    expect(violations({ name: 'a', size: 'S', id: 1, created: 'x', displayName: [] })).toEqual([
      { pointer: '/id', detail: 'must be a string' },
      { pointer: '/created', detail: 'must be a date-time' },
      { pointer: '/displayName', detail: 'must be a string' },
    ])
  })

  it.each(['2016-12-31T23:59:60Z', '2026-02-30T10:00:00Z', '2026-11-24T10:00:00'])(
    'rejects %j as a date-time',
    (created) =>
      expect(violations({ name: 'a', size: 'S', created })).toEqual([
        { pointer: '/created', detail: 'must be a date-time' },
      ]),
  )

  it.each(['2016-12-31T23:59:59.999Z', '2028-02-29T10:00:00+05:30'])('accepts %j as a date-time', (created) =>
    expect(violations({ name: 'a', size: 'S', created })).toEqual([]),
  )

  it('treats null as an absent optional property at every depth, and an empty string as the removal of a stored secret', () => {
    const Source = Type.Object(
      {
        user: Type.Optional(Type.String()),
        password: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Null()], { writeOnly: true })),
      },
      { additionalProperties: false },
    )
    const check = createContractChecker(
      defineContract(
        'Deep',
        Type.Object({ name: Type.String(), source: Type.Optional(Source), list: Type.Array(Source) }),
      ),
    )
    expect(check({ name: 'a', source: null, list: [{ user: null, password: 'p' }, { password: null }] })).toEqual({
      value: { name: 'a', list: [{ password: 'p' }, {}] },
    })
    expect(check({ name: 'a', list: [{ password: '' }] })).toEqual({ value: { name: 'a', list: [{ password: null }] } })
    expect(check({ name: null, list: [] })).toEqual({ violations: [{ pointer: '/name', detail: 'must be a string' }] })
    expect(check({ name: 'a', list: [], other: null })).toHaveProperty('value')
    const value = { name: 'a', list: [] }
    expect((check(value) as { value: object }).value).toBe(value)
  })

  it('returns one violation for a value that has two patterns or may be null', () => {
    const Named = defineContract(
      'Named',
      Type.Object(
        { ...namedFields, secret: Type.Union([Type.String({ minLength: 22 }), Type.Null()]) },
        { additionalProperties: false },
      ),
    )
    expect(createContractChecker(Named)({ name: 'x'.repeat(256), secret: 'short' })).toEqual({
      violations: [
        { pointer: '/name', detail: 'must have at most 255 characters' },
        { pointer: '/secret', detail: 'must have at least 22 characters' },
      ],
    })
  })

  it('rejects __proto__, and ignores inherited properties', () => {
    expect(violations(JSON.parse('{"name":"a","size":"S","__proto__":{"x":1}}'))).toEqual([
      { pointer: '/__proto__', detail: 'is not known here' },
    ])
    expect(violations(Object.create({ name: 'a', size: 'S' }))).toHaveLength(2)
  })

  it('returns only the first violation of a huge object or list', () => {
    const hostile = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 1]))
    expect(violations(hostile)).toHaveLength(1)
    expect(violations({ name: 'a', size: 'S', tags: Array.from({ length: 100_000 }, () => ({ a: 'x' })) })).toEqual([
      { pointer: '/tags', detail: 'must have at most 3 items' },
    ])
  })
})

describe('the check of a query', () => {
  const query = createContractChecker(
    Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      ratio: Type.Optional(Type.Number()),
      total: Type.Optional(Type.Boolean()),
      filter: Type.Optional(Type.Array(Type.String())),
    }),
    'query',
  )

  it('converts text to the numbers, booleans and lists of the contract', () => {
    const given = { page: '7', ratio: '-0.5', total: 'false', filter: 'a:eq:1' }
    expect(query(given)).toEqual({ value: { page: 7, ratio: -0.5, total: false, filter: ['a:eq:1'] } })
    expect(query({ filter: ['1', '2'] })).toEqual({ value: { filter: ['1', '2'] } })
  })

  it.each(['Infinity', '-Infinity', 'NaN', '0x10', '1e1', '', ' 1', '1 ', '١', '1_0', '9'.repeat(40)])(
    'rejects %j as a number',
    (page) => expect(query({ page })).toMatchObject({ violations: [{ pointer: '/page' }] }),
  )

  it.each(['1', 'yes', 'TRUE', ''])('rejects %j as a boolean', (total) =>
    expect(query({ total })).toMatchObject({ violations: [{ pointer: '/total' }] }),
  )
})
