import { describe, expect, it } from '@jest/globals'
import { ServiceUnavailable } from '@sluice/client'
import { translateDatabaseError } from './map-database-errors.ts'

describe('errors of the identity service', () => {
  it('give different messages for an invalid response and an unreachable service', () => {
    const cause = new ServiceUnavailable(
      'malformed-answer',
      'The answer to lookups.standing breaks its contract: /client/code.',
    )
    expect(translateDatabaseError(cause)).toMatchObject({
      status: 503,
      code: 'unavailable',
      message:
        'The response of the identity service is invalid. Ask the operator to run the same version of the identity and pipeline services.',
      headers: { 'Retry-After': '5' },
      cause,
    })
    const away = translateDatabaseError(new ServiceUnavailable('unreachable', 'Nobody answers.'))
    expect(away).toMatchObject({ status: 503, message: expect.stringContaining('identity service cannot be reached') })
  })
})
