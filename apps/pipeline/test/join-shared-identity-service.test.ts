import { expect, it } from '@jest/globals'
import { joinIdentity } from './join-shared-identity-service.ts'

it('waits for the throttle when many test files sign in at the same time', async () => {
  const joined = await Promise.all(Array.from({ length: 12 }, () => joinIdentity()))
  expect(joined.map(({ adminToken }) => adminToken !== '')).toEqual(Array(12).fill(true))
})
