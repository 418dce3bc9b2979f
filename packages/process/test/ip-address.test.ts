import { describe, expect, it } from '@jest/globals'
import { isLoopback } from '@sluice/process'

describe('isLoopback', () => {
  it.each(['localhost', '127.0.0.1', '127.8.0.9', '::1'])('is true for %s', (host) =>
    expect(isLoopback(host)).toBe(true),
  )

  it.each(['127.example.org', '127.0.0.1.example.org', 'localhost.example.org', '10.0.0.1', '[::1]', ''])(
    'is false for "%s"',
    (host) => expect(isLoopback(host)).toBe(false),
  )
})
