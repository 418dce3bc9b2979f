import { beforeAll, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWTHeaderParameters } from 'jose'
import { accessTokenAudience } from '@sluice/contracts'
import { tokenVerifier, type TokenVerifier } from '../src/index.ts'

const issuer = 'https://identity.example'
const claims = { sid: 'session', tenant: 'client', client_id: 'sluice' }

let key: CryptoKey
let other: CryptoKey
let rsa: CryptoKey
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
  verify = tokenVerifier(issuer, createLocalJWKSet({ keys: published }))
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

  it('cannot be checked while the keys cannot be had, which is nobody’s fault', async () => {
    const unreachable = tokenVerifier(issuer, () => Promise.reject(Object.assign(new TypeError('fetch failed'))))
    await expect(signed().then(unreachable)).rejects.toMatchObject({ status: 503, code: 'unavailable' })
  })
})
