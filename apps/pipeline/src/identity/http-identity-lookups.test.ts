import { expect, it } from '@jest/globals'
import { identityOperations } from '@sluice/contracts'
import { checkResponse } from './http-identity-lookups.ts'

const { lookups } = identityOperations
const uid = '0198c1a0-0000-7000-8000-000000000001'
const group = { id: uid, client: uid, name: 'Nurses', code: 'N' }

it('returns the fields of the contract without the unknown fields of a newer service', () => {
  expect(checkResponse(lookups.userGroups, [{ ...group, colour: 'blue' }])).toEqual([group])
})

it('accepts an operation without a response', () => {
  expect(checkResponse(lookups.datasetPublishers, undefined)).toBeUndefined()
})

it.each([
  ['a missing field', [{ id: uid }], '/0 must have required property'],
  ['another type', [{ ...group, name: 1 }], '/0/name must be string'],
  ['another shape', { items: [] }, '/ must be array'],
  ['nothing', undefined, '/ must be array'],
])('rejects %s as a malformed answer that names the field', (_what, body, sentence) => {
  expect(() => checkResponse(lookups.userGroups, body)).toThrow(
    expect.objectContaining({
      name: 'ServiceUnavailable',
      reason: 'malformed-answer',
      message: expect.stringContaining(`The response to lookups.userGroups does not match its contract: ${sentence}`),
    }),
  )
})
