import { beforeAll, describe, expect, it } from '@jest/globals'
import {
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  jwtVerify,
  SignJWT,
  type CryptoKey,
  type JWTHeaderParameters,
} from 'jose'
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
  it('is accepted and returns its claims if the identity service signed it', async () => {
    const verified = await verify(await signed())
    expect(verified).toEqual({ sub: 'user', ...claims, issued: expect.any(Date) })
  })

  it.each<[string, () => Changes, string]>([
    ['of another issuer', () => ({ payload: { iss: 'https://evil.example' } }), 'not valid here'],
    ['for another audience', () => ({ payload: { aud: 'other' } }), 'not valid here'],
    ['of another type', () => ({ header: { typ: 'JWT' } }), 'not valid here'],
    ['that has expired', () => ({ payload: { exp: seconds(-10) } }), 'has expired'],
    ['without an expiry time', () => ({ payload: { exp: undefined } }), 'not valid here'],
    ['without a client_id', () => ({ payload: { client_id: undefined } }), 'not valid here'],
    ['without a subject', () => ({ payload: { sub: undefined } }), 'not valid here'],
    ['signed with a foreign key', () => ({ by: other }), 'not valid here'],
    ['with an unknown key id', () => ({ header: { kid: 'two' } }), 'not valid here'],
    ['signed with a shared secret', () => ({ header: { alg: 'HS256' }, by: new Uint8Array(32) }), 'not valid here'],
  ])('%s is refused', async (_what, changes, detail) => {
    await expect(signed(changes()).then(verify)).rejects.toMatchObject({
      status: 401,
      code: 'unauthenticated',
      message: expect.stringContaining(detail),
    })
  })

  it('is refused if it is signed with RS256, also if the key is published', async () => {
    const token = await signed({ header: { alg: 'RS256', kid: 'rsa' }, by: rsa })
    // The signature and the key are valid, so the algorithm is the only reason to refuse the token.
    expect((await jwtVerify(token, keys.find)).payload.sub).toBe('user')
    await expect(verify(token)).rejects.toMatchObject({
      status: 401,
      message: expect.stringContaining('not valid here'),
    })
  })

  it('is refused without a signature or if it is malformed', async () => {
    const [header, payload] = (await signed()).split('.')
    const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')
    for (const token of ['', 'a', 'a.b.c', `${none}.${payload}.`, `${header}.${payload}.`, `${header}.e30.e30`])
      await expect(verify(token)).rejects.toMatchObject({ status: 401 })
  })

  it('is verified once while the keys stay the same, and again if its signature or the keys change', async () => {
    let lookups = 0
    const ring = {}
    let rings = [ring]
    const counting = tokenVerifier(issuer, {
      find(...given) {
        lookups += 1
        return keys.find(...given)
      },
      ring: async () => rings[0]!,
    })
    const token = await signed()
    const first = await counting(token)
    expect(await counting(token)).toEqual(first)
    expect(lookups).toBe(1)
    const [header, payload] = token.split('.')
    for (let again = 0; again < 2; again++)
      await expect(counting(`${header}.${payload}.${'A'.repeat(86)}`)).rejects.toMatchObject({ status: 401 })
    expect(lookups).toBe(3)
    rings = [{}]
    await counting(token)
    expect(lookups).toBe(4)
  })

  it('is refused after its expiry, also if it was accepted before', async () => {
    // The tolerance for clock differences is five seconds.
    const token = await signed({ payload: { exp: seconds(-2) } })
    await verify(token)
    await new Promise((resolve) => setTimeout(resolve, 3_100))
    await expect(verify(token)).rejects.toMatchObject({ status: 401, message: expect.stringContaining('has expired') })
  })

  it('returns 503 if the keys cannot be fetched', async () => {
    const unreachable = tokenVerifier(issuer, publishedKeys('http://127.0.0.1:1'))
    await expect(signed().then(unreachable)).rejects.toMatchObject({ status: 503, code: 'unavailable' })
  })
})
