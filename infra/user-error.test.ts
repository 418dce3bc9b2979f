import { afterEach, expect, it, jest } from '@jest/globals'
import { UserError, reportFailure } from './user-error.ts'

afterEach(() => {
  process.exitCode = undefined
})

it('prints an error and the failure of the cleanup after it', () => {
  const print = jest.spyOn(console, 'error').mockImplementation(() => {})
  const [failure, cleanupFailure] = [new UserError('The port is in use.'), new Error('not signed out')]
  reportFailure(new SuppressedError(cleanupFailure, failure))
  expect(print.mock.calls).toEqual([[expect.stringContaining('The port is in use.')], [cleanupFailure]])
  expect(process.exitCode).toBe(1)
  print.mockRestore()
})
