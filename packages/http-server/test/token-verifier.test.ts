import { beforeAll, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWTHeaderParameters } from 'jose'
import { accessTokenAudience } from '@sluice/contracts'
import { publishedKeys, tokenVerifier, type TokenKeys, type TokenVerifier } from '../src/index.ts'

const issuer = 'https://identity.example'
const claims = { sid: 'session', tenant: 'client', client_id: 'sluice' }

let key: CryptoKey
let other: CryptoKey
let rsa: CryptoKey
let keys: TokenKeys
let verify: TokenVerifier
beforeAll(async () => {
  const pair = await generateKeyPair('ES256')
  const rsaPair = await generateKeyPair('RS256')
  key = pair.privateKey
  rsa = rsaPair.privateKey
  other = (await generateKeyPair('ES256')).privateKey
  const published = [
    { ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'ES256' },
    { ...(await exportJWK(rsaPair.publicKey)), kid: 'rsa', alg: 'RS256' },
  ]
  keys = { find: createLocalJWKSet({ keys: published }), ring: async () => keys }
  verify = tokenVerifier(issuer, keys)
})

interface Changes {
  header?: Partial<JWTHeaderParameters>
  payload?: object
  by?: CryptoKey | Uint8Array
}

const signed = ({ header, payload, by = key }: Changes = {}) => {
  const now = Math.floor(Date.now() / 1000)
  const usual = { iss: issuer, aud: accessTokenAudience, sub: 'user', iat: now, exp: now + 60 }
  return new SignJWT({ ...usual, ...claims, ...payload })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'one', ...header })
    .sign(by)
}
const seconds = (from: number) => Math.floor(Date.now() / 1000) + from

describe('an access token', () => {
  it('is good as the identity service signs it', async () => {
    const verified = await verify(await signed())
    expect(verified).toEqual({ sub: 'user', ...claims, issued: expect.any(Date) })
  })

  it.each<[string, () => Changes, string]>([
    ['of another issuer', () => ({ payload: { iss: 'https://evil.example' } }), 'not valid here'],
    ['for another audience', () => ({ payload: { aud: 'other' } }), 'not valid here'],
    ['of another type', () => ({ header: { typ: 'JWT' } }), 'not valid here'],
    ['that has ended', () => ({ payload: { exp: seconds(-10) } }), 'has ended'],
    ['without an end', () => ({ payload: { exp: undefined } }), 'not valid here'],
    ['without who it was issued to', () => ({ payload: { client_id: undefined } }), 'not valid here'],
    ['without a user', () => ({ payload: { sub: undefined } }), 'not valid here'],
    ['signed by somebody else', () => ({ by: other }), 'not valid here'],
    ['of a key that there is not', () => ({ header: { kid: 'two' } }), 'not valid here'],
    ['signed in another way', () => ({ header: { alg: 'RS256', kid: 'rsa' }, by: rsa }), 'not valid here'],
    ['signed with a shared secret', () => ({ header: { alg: 'HS256' }, by: new Uint8Array(32) }), 'not valid here'],
  ])('%s is refused', async (_what, changes, detail) => {
    await expect(signed(changes()).then(verify)).rejects.toMatchObject({
      status: 401,
      code: 'unauthenticated',
      message: expect.stringContaining(detail),
    })
  })

  it('without a signature, or of nonsense, is refused', async () => {
    const [header, payload] = (await signed()).split('.')
    const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')
    for (const token of ['', 'a', 'a.b.c', `${none}.${payload}.`, `${header}.${payload}.`, `${header}.e30.e30`])
      await expect(verify(token)).rejects.toMatchObject({ status: 401 })
  })

  it('that is presented again is not checked again for a while, one that differs is, and so is any once the keys change', async () => {
    let asked = 0
    const ring = {}
    let rings = [ring]
    const counting = tokenVerifier(issuer, {
      find(...given) {
        asked += 1
        return keys.find(...given)
      },
      ring: async () => rings[0]!,
    })
    const token = await signed()
    const first = await counting(token)
    expect(await counting(token)).toEqual(first)
    expect(asked).toBe(1)
    const [header, payload] = token.split('.')
    for (let again = 0; again < 2; again++)
      await expect(counting(`${header}.${payload}.${'A'.repeat(86)}`)).rejects.toMatchObject({ status: 401 })
    expect(asked).toBe(3)
    rings = [{}]
    await counting(token)
    expect(asked).toBe(4)
  })

  it('is refused once it has ended, however often it was good before', async () => {
    // Five seconds are given for clocks that differ.
    const token = await signed({ payload: { exp: seconds(-2) } })
    await verify(token)
    await new Promise((resolve) => setTimeout(resolve, 3_100))
    await expect(verify(token)).rejects.toMatchObject({ status: 401, message: expect.stringContaining('has ended') })
  })

  it('cannot be checked while the keys cannot be had, which is nobody’s fault', async () => {
    const unreachable = tokenVerifier(issuer, publishedKeys('http://127.0.0.1:1'))
    await expect(signed().then(unreachable)).rejects.toMatchObject({ status: 503, code: 'unavailable' })
  })
})
