import { describe, expect, it } from '@jest/globals'
import type { DatabaseConfig } from '../database-connector/database-config.ts'
import { classifyOracleError, createRedirectError } from './classify-oracle-error.ts'

describe('the classification of Oracle errors', () => {
  const redirectError = createRedirectError('10.0.0.7')
  // The driver adds its own code and text to an error of the socket.
  const wrappedError = new Error(`NJS-503: connection could not be established: ${redirectError.message}`)

  it.each([redirectError, wrappedError])('recognises a redirect to an address that is not allowed: %s', (error) => {
    const classified = classifyOracleError(error, {} as DatabaseConfig)
    expect(classified).toEqual({ code: 'ADDRESS_NOT_ALLOWED', detail: error.message })
  })
})
