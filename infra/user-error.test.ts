import { afterEach, expect, it, jest } from '@jest/globals'
import { Refusal, refuse } from './user-error.ts'

afterEach(() => {
  process.exitCode = undefined
})

it('prints an error and the failure of the cleanup after it', () => {
  const print = jest.spyOn(console, 'error').mockImplementation(() => {})
  const [failure, cleanupFailure] = [new Refusal('The port is in use.'), new Error('not signed out')]
  refuse(new SuppressedError(cleanupFailure, failure))
  expect(print.mock.calls).toEqual([[expect.stringContaining('The port is in use.')], [cleanupFailure]])
  expect(process.exitCode).toBe(1)
  print.mockRestore()
})
