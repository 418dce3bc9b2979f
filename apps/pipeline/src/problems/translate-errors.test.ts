import { describe, expect, it } from '@jest/globals'
import { ServiceUnavailable } from '@sluice/client'
import { translate } from './translate-errors.ts'

describe('an identity service that does not help', () => {
  it('is told apart: an answer that cannot be read is no outage', () => {
    const cause = new ServiceUnavailable(
      'malformed-answer',
      'The answer to lookups.standing breaks its contract: /client/code.',
    )
    expect(translate(cause)).toMatchObject({
      status: 503,
      code: 'unavailable',
      message: 'The response of the identity service is invalid. Ask the operator to run equal versions of both.',
      headers: { 'Retry-After': '5' },
      cause,
    })
    const away = translate(new ServiceUnavailable('unreachable', 'Nobody answers.'))
    expect(away).toMatchObject({ status: 503, message: expect.stringContaining('identity service cannot be reached') })
  })
})
