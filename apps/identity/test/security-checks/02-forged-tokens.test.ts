import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import { startService, type Service } from '../app-under-test.ts'
import { relyingParty } from '../openid-provider/relying-party.ts'

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
let token: string
let idToken: string
beforeAll(async () => {
  service = await startService()
  party = await relyingParty(service)
  const user = await party.user()
  const { tokens } = await party.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
  token = tokens.access_token
  idToken = tokens.id_token!
})
afterAll(() => service.stop())

const base64Json = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const readOwnUser = (bearer: string) => service.withToken(bearer).get('/users/me')
const jwks = async () => (await service.http.get('/.well-known/jwks.json').expect(200)).body.keys

it('accepts an unmodified access token', async () => {
  await readOwnUser(token).expect(200)
})

it('refuses tokens with alg "none" in any spelling, with or without a signature', async () => {
  const [, claims] = token.split('.')
  for (const alg of ['none', 'None', 'NONE', 'nOnE', ''])
    for (const signature of ['', 'AAAA', token.split('.')[2]!])
      await readOwnUser(`${base64Json({ ...decodeProtectedHeader(token), alg })}.${claims}.${signature}`).expect(401)
})

it('refuses tokens signed with HS256 and the public key as the secret', async () => {
  const [key] = await jwks()
  const [, claims] = token.split('.')
  for (const secret of [JSON.stringify(key), key.x, key.kid, '']) {
    const input = `${base64Json({ ...decodeProtectedHeader(token), alg: 'HS256' })}.${claims}`
    const signature = createHmac('sha256', secret).update(input).digest('base64url')
    await readOwnUser(`${input}.${signature}`).expect(401)
  }
})

it('refuses tokens signed with a foreign key, with the real key id and without a key id', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { kid } = decodeProtectedHeader(token)
  for (const header of [kid === undefined ? {} : { kid }, {}]) {
    const forged = await new SignJWT(decodeJwt(token))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header })
      .sign(privateKey)
    await readOwnUser(forged).expect(401)
  }
})

it('refuses ID tokens, and access tokens with changed claims, signature or type', async () => {
  await readOwnUser(idToken).expect(401)
  const [header, claims, signature] = token.split('.')
  const changed = { ...decodeJwt(token), scope: 'openid ROLE_MANAGE_USER', sub: randomUUID() }
  await readOwnUser(`${header}.${base64Json(changed)}.${signature}`).expect(401)
  await readOwnUser(`${header}.${claims}.${signature!.slice(0, -4)}AAAA`).expect(401)
  await readOwnUser(`${base64Json({ ...decodeProtectedHeader(token), typ: 'JWT' })}.${claims}.${signature}`).expect(401)
})

it('publishes only the public members of each key in the JWKS', async () => {
  for (const key of await jwks())
    expect(Object.keys(key).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
})
