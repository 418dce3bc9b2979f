import { expect, it } from '@jest/globals'
import { redactSecrets } from '../src/audited-writes.ts'

it('redacts secrets at every depth of a body or row, and keeps everything else', () => {
  const when = new Date()
  const row = {
    name: 'a',
    when,
    tags: ['token'],
    twoFactorSecretSet: true,
    settings: { source: { authToken: 'x1', secret: { inner: 'x2' }, user: 'u' } },
    access_key: ['x3'],
    password: null,
  }
  const copy = redactSecrets(row)
  expect(copy).toEqual({
    name: 'a',
    when,
    tags: ['token'],
    twoFactorSecretSet: true,
    settings: { source: { authToken: '[redacted]', secret: '[redacted]', user: 'u' } },
    access_key: '[redacted]',
    password: null,
  })
  expect(JSON.stringify(copy)).not.toMatch(/x[123]/)
})
