import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Service } from '../app-under-test.ts'
import { startTestProvider, type Misbehaviour, type TestProvider } from '../federated/identity-provider-stand-in.ts'
import {
  startSignIn,
  createClientAt,
  requestCallback,
  followRedirect,
  signInAtProvider,
  createSsoUser,
  startServiceBesideProviders,
} from '../federated/federated-sign-in-setup.ts'

let service: Service
let honest: TestProvider
let hostile: TestProvider
beforeAll(async () => {
  service = await startServiceBesideProviders()
  honest = await startTestProvider()
  hostile = await startTestProvider()
})
afterAll(async () => {
  await Promise.all([honest.stop(), hostile.stop()])
  await service.stop()
})
beforeEach(() => {
  honest.misbehaviour = {}
  hostile.misbehaviour = {}
})

/** Creates an organisation that uses the provider, and a user who signs in there. */
async function createUserAt(provider: TestProvider) {
  const config = await createClientAt(service, provider.issuer)
  const ssoId = randomUUID()
  provider.person = { sub: ssoId }
  await createSsoUser(service, { client: config.client, ssoId })
  return config
}

const now = () => Math.floor(Date.now() / 1000)
const base64Json = (claims: object) => Buffer.from(JSON.stringify(claims)).toString('base64url')

describe('a federated sign-in', () => {
  it('is refused if the metadata of the provider names another issuer', async () => {
    const { code } = await createUserAt(hostile)
    hostile.misbehaviour = { metadata: { issuer: honest.issuer } }
    const answer = await service.http.get(`/api/v1/auth/sso/${code}`)
    expect([answer.status, answer.body.code]).toEqual([502, 'sso-provider-failed'])
    expect(answer.body.detail).toContain(`names the issuer ${honest.issuer}`)
  })

  it.each<[string, Misbehaviour]>([
    ['of another issuer', { claims: (claims) => ({ ...claims, iss: 'https://other.example.org' }) }],
    ['of its own issuer with a slash appended', { claims: (claims) => ({ ...claims, iss: `${claims.iss}/` }) }],
    ['without a nonce', { claims: ({ nonce: _nonce, ...claims }) => claims }],
    ['with another nonce', { claims: (claims) => ({ ...claims, nonce: 'another' }) }],
    ['for another application', { claims: (claims) => ({ ...claims, aud: 'another' }) }],
    [
      'for several applications, issued to another',
      { claims: (claims) => ({ ...claims, aud: [claims.aud, 'another'], azp: 'another' }) },
    ],
    ['without a subject', { claims: ({ sub: _sub, ...claims }) => claims }],
    ['that has expired', { claims: (claims) => ({ ...claims, exp: now() - 60 }) }],
    ['that never expires', { claims: ({ exp: _exp, ...claims }) => claims }],
    ['without a signature', { token: (claims) => `${base64Json({ alg: 'none' })}.${base64Json(claims)}.` }],
    [
      'with an invalid HS256 signature',
      { token: (claims) => `${base64Json({ alg: 'HS256' })}.${base64Json(claims)}.${'A'.repeat(43)}` },
    ],
    [
      'signed with a key that it does not publish',
      {
        token: async (claims) => honest.sign(claims, await honest.newKey()),
      },
    ],
    [
      'signed with another key and the key id of a published one',
      {
        token: async (claims) => {
          const { private: key } = await honest.newKey()
          return honest.sign(claims, { private: key, public: honest.publicKey() })
        },
      },
    ],
    ['that is not a JWT', { token: () => 'nonsense' }],
  ])('is refused with an ID token %s', async (_which, misbehaviour) => {
    const { code } = await createUserAt(honest)
    honest.misbehaviour = misbehaviour
    const answer = await signInAtProvider(service, code)
    expect([answer.status, answer.body.code]).toEqual([502, 'sso-provider-failed'])
    expect(answer.body).not.toHaveProperty('accessToken')
  })

  it('ends with 502 if the token endpoint responds endlessly or not at all', async () => {
    const { code } = await createUserAt(honest)
    await startSignIn(service, code)
    for (const answer of [
      (_: unknown, response: { write(text: string): void }) =>
        void setInterval(() => response.write('x'.repeat(9_000)), 1).unref(),
      () => undefined,
    ]) {
      const { location, cookie } = await startSignIn(service, code)
      const callbackUrl = await followRedirect(location)
      honest.misbehaviour = {
        answer: (request, response) => (request.url === '/token' ? (answer(request, response), true) : false),
      }
      // Without a limit of size and time, neither request would ever end.
      expect((await requestCallback(service, callbackUrl, cookie)).status).toBe(502)
      honest.misbehaviour = {}
    }
  })
})

describe('an authorization response', () => {
  it('is refused if its issuer (RFC 9207) is another one, or missing although the provider supports it', async () => {
    const { code } = await createUserAt(honest)
    for (const iss of [hostile.issuer, `${honest.issuer}/`, undefined]) {
      honest.misbehaviour = { back: { iss } }
      const answer = await signInAtProvider(service, code)
      expect([answer.status, answer.body.code]).toEqual([502, 'sso-provider-failed'])
    }
  })

  it('is refused if another provider sent it, by the redirect URI, and its code is sent to no provider', async () => {
    const [good, bad] = [await createUserAt(honest), await createUserAt(hostile)]
    honest.misbehaviour = {
      metadata: { authorization_response_iss_parameter_supported: false },
      back: { iss: undefined },
    }
    // The hostile provider redirects the browser to the honest one, with the state of its own sign-in.
    const atHostile = await startSignIn(service, bad.code)
    const atHonest = new URL((await startSignIn(service, good.code)).location)
    atHonest.searchParams.set('state', new URL(atHostile.location).searchParams.get('state')!)
    const callbackUrl = await followRedirect(atHonest.href)
    hostile.requestedPaths.length = 0
    const answer = await requestCallback(service, callbackUrl, atHostile.cookie)
    expect([answer.status, answer.body.code]).toEqual([400, 'sso-unknown'])
    expect(hostile.requestedPaths).toEqual([])
  })

  it('is refused with the code of another sign-in', async () => {
    const { code } = await createUserAt(honest)
    const [mine, theirs] = [await startSignIn(service, code), await startSignIn(service, code)]
    const [callbackUrl, other] = [
      new URL(await followRedirect(mine.location)),
      new URL(await followRedirect(theirs.location)),
    ]
    callbackUrl.searchParams.set('code', other.searchParams.get('code')!)
    expect((await requestCallback(service, callbackUrl.href, mine.cookie)).body.code).toBe('sso-denied')
  })
})
