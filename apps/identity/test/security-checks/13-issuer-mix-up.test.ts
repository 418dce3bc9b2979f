import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Service } from '../app-under-test.ts'
import { startTestProvider, type Misbehaviour, type TestProvider } from '../federated/test-provider.ts'
import {
  begin,
  clientOf,
  comeBack,
  followed,
  signInThrough,
  ssoUser,
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

/** A client of a provider, with a user who signs in there. */
async function at(provider: TestProvider) {
  const config = await clientOf(service, provider.issuer)
  const ssoId = randomUUID()
  provider.person = { sub: ssoId }
  await ssoUser(service, { client: config.client, ssoId })
  return config
}

const now = () => Math.floor(Date.now() / 1000)
const plain = (claims: object) => Buffer.from(JSON.stringify(claims)).toString('base64url')

describe('a provider', () => {
  it('that calls itself something else is not used', async () => {
    const { code } = await at(hostile)
    hostile.misbehaviour = { metadata: { issuer: honest.issuer } }
    const answer = await service.http.get(`/api/v1/auth/sso/${code}`)
    expect([answer.status, answer.body.code]).toEqual([502, 'sso-provider-failed'])
    expect(answer.body.detail).toContain(`names the issuer ${honest.issuer}`)
  })

  it.each<[string, Misbehaviour]>([
    ['of another issuer', { claims: (claims) => ({ ...claims, iss: 'https://other.example.org' }) }],
    ['of its own issuer with a slash more', { claims: (claims) => ({ ...claims, iss: `${claims.iss}/` }) }],
    ['without a nonce', { claims: ({ nonce: _nonce, ...claims }) => claims }],
    ['with another nonce', { claims: (claims) => ({ ...claims, nonce: 'another' }) }],
    ['for another application', { claims: (claims) => ({ ...claims, aud: 'another' }) }],
    [
      'for several, issued to another',
      { claims: (claims) => ({ ...claims, aud: [claims.aud, 'another'], azp: 'another' }) },
    ],
    ['without a subject', { claims: ({ sub: _sub, ...claims }) => claims }],
    ['that has expired', { claims: (claims) => ({ ...claims, exp: now() - 60 }) }],
    ['that never expires', { claims: ({ exp: _exp, ...claims }) => claims }],
    ['that is not signed', { token: (claims) => `${plain({ alg: 'none' })}.${plain(claims)}.` }],
    [
      'signed with what is no secret',
      { token: (claims) => `${plain({ alg: 'HS256' })}.${plain(claims)}.${'A'.repeat(43)}` },
    ],
    [
      'signed with a key that it does not publish',
      {
        token: async (claims) => honest.sign(claims, await honest.newKey()),
      },
    ],
    [
      'signed with another key under the name of a published one',
      {
        token: async (claims) => {
          const { private: key } = await honest.newKey()
          return honest.sign(claims, { private: key, public: honest.publicKey() })
        },
      },
    ],
    ['that is none', { token: () => 'nonsense' }],
  ])('is not believed a token %s', async (_which, misbehaviour) => {
    const { code } = await at(honest)
    honest.misbehaviour = misbehaviour
    const answer = await signInThrough(service, code)
    expect([answer.status, answer.body.code]).toEqual([502, 'sso-provider-failed'])
    expect(answer.body).not.toHaveProperty('accessToken')
  })

  it('that answers endlessly or not at all holds nobody up for long', async () => {
    const { code } = await at(honest)
    await begin(service, code)
    for (const answer of [
      (_: unknown, response: { write(text: string): void }) =>
        void setInterval(() => response.write('x'.repeat(9_000)), 1).unref(),
      () => undefined,
    ]) {
      const { location, cookie } = await begin(service, code)
      const back = await followed(location)
      honest.misbehaviour = {
        answer: (request, response) => (request.url === '/token' ? (answer(request, response), true) : false),
      }
      // Neither would ever end by itself.
      expect((await comeBack(service, back, cookie)).status).toBe(502)
      honest.misbehaviour = {}
    }
  })
})

describe('an answer for another provider', () => {
  it('is refused by the issuer that it names (RFC 9207), also when it names none although it could', async () => {
    const { code } = await at(honest)
    for (const iss of [hostile.issuer, `${honest.issuer}/`, undefined]) {
      honest.misbehaviour = { back: { iss } }
      const answer = await signInThrough(service, code)
      expect([answer.status, answer.body.code]).toEqual([502, 'sso-provider-failed'])
    }
  })

  it('is refused by the way back, which each provider has for itself, so no code goes to a wrong one', async () => {
    const [good, bad] = [await at(honest), await at(hostile)]
    honest.misbehaviour = {
      metadata: { authorization_response_iss_parameter_supported: false },
      back: { iss: undefined },
    }
    // The hostile provider sends its visitor on to the honest one, with the state of the sign-in at itself.
    const atHostile = await begin(service, bad.code)
    const atHonest = new URL((await begin(service, good.code)).location)
    atHonest.searchParams.set('state', new URL(atHostile.location).searchParams.get('state')!)
    const back = await followed(atHonest.href)
    hostile.asked.length = 0
    const answer = await comeBack(service, back, atHostile.cookie)
    expect([answer.status, answer.body.code]).toEqual([400, 'sso-unknown'])
    expect(hostile.asked).toEqual([])
  })

  it('is refused with the code of another sign-in', async () => {
    const { code } = await at(honest)
    const [mine, theirs] = [await begin(service, code), await begin(service, code)]
    const [back, other] = [new URL(await followed(mine.location)), new URL(await followed(theirs.location))]
    back.searchParams.set('code', other.searchParams.get('code')!)
    expect((await comeBack(service, back.href, mine.cookie)).body.code).toBe('sso-denied')
  })
})
