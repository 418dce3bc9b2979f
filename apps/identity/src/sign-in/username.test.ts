import { expect, it } from '@jest/globals'
import { skeletonOf, usernameOf } from './username.ts'

it.each([
  ['Admin', 'admin'],
  ['ＡＤＭＩＮ', 'admin'],
  ['ad\u00admin', 'admin'],
  ['adm\u200bin', 'admin'],
  ['ﬁsher', 'fisher'],
  ['Straße', 'STRASSE'],
  ['e\u0301va', 'éva'],
  ['ΣΟΦΟΣ', 'σοφος'],
])('%s and %s are one username', (a, b) => {
  expect(skeletonOf(a)).toBe(skeletonOf(b))
})

it('keeps a username as it was typed, composed', () => {
  expect(usernameOf('E\u0301va.Müller+1@example.org')).toBe('Éva.Müller+1@example.org')
})
