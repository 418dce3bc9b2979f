import { expect, it } from '@jest/globals'
import { createBrowserCookies } from './pending-sign-in-cookie.ts'

const browser = 'B'.repeat(43)
const secret = 's'.repeat(43)
const secure = createBrowserCookies(new URL('https://id.example.org/sluice/api/v1/auth/sso/callback'))
const plain = createBrowserCookies(new URL('http://localhost:3001/api/v1/auth/sso/callback'))

it('the cookie has the __Host- prefix if the service uses https', () => {
  expect(secure.set(browser, secret)).toBe(
    `__Host-sluice-sso-BBBBBBBBBBBBBBBB=${secret}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=600`,
  )
  expect(secure.clear(browser)).toMatch(/^__Host-sluice-sso-B{16}=; Path=\/; Secure; .*Max-Age=0$/)
})

it('the cookie is limited to the callback path if the service uses http', () => {
  expect(plain.set(browser, secret)).toMatch(/; Path=\/api\/v1\/auth\/sso\/callback; HttpOnly; SameSite=Lax/)
})

it('the cookie is found among others, and ignored if its name, value or browser differs', () => {
  const [pair] = plain.set(browser, secret).split(';')
  expect(plain.read(`a=b; ${pair}; c=d`, browser)).toBe(secret)
  expect(plain.read(pair, 'C'.repeat(43))).toBeUndefined()
  expect(plain.read(`x${pair}`, browser)).toBeUndefined()
  expect(plain.read(`${pair}x`, browser)).toBeUndefined()
  expect(plain.read(undefined, browser)).toBeUndefined()
})
