import { describe, expect, it } from '@jest/globals'
import { isLoopback } from '@sluice/process'

describe('this machine, by name', () => {
  it.each(['localhost', '127.0.0.1', '127.8.0.9', '::1'])('is %s', (host) => expect(isLoopback(host)).toBe(true))

  it.each(['127.example.org', '127.0.0.1.example.org', 'localhost.example.org', '10.0.0.1', '[::1]', ''])(
    'is not %s',
    (host) => expect(isLoopback(host)).toBe(false),
  )
})
