import { createServer, type Server } from 'node:http'
import { createServer as createTrap, type AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { ssrfSafeFetch, outgoingAllowed } from '@sluice/http-client'
import { createFederation, outgoingLimits } from '../../src/sign-in/federated/provider-metadata.ts'
import { testProvider } from '../../src/sign-in/federated/check-provider-configuration.ts'
import type { ProviderConfig } from '../../src/sign-in/federated/provider-config.ts'
import { startService, type Service } from '../app-under-test.ts'
import { createClientAt } from '../federated/federated-sign-in-setup.ts'

/** Connections to `inside`, a server on an internal address. There must be none. */
let connections = 0
const inside = createTrap((socket) => {
  connections++
  socket.destroy()
})
let insidePort: number
let allowedPort: number
let answer: { status: number; headers: Record<string, string>; body: object } = { status: 200, headers: {}, body: {} }
const allowedProvider: Server = createServer((_request, response) => {
  response
    .writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    .end(JSON.stringify(answer.body))
})

let service: Service
beforeAll(async () => {
  service = await startService()
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  await new Promise<void>((resolve) => allowedProvider.listen(0, '127.0.0.1', resolve))
  insidePort = (inside.address() as AddressInfo).port
  allowedPort = (allowedProvider.address() as AddressInfo).port
})
afterAll(async () => {
  inside.close()
  allowedProvider.closeAllConnections()
  allowedProvider.close()
  await service.stop()
})
beforeEach(() => void (connections = 0))
afterEach(() => expect(connections).toBe(0))

/** Spellings of internal addresses. */
const internalHosts = [
  '127.0.0.1',
  '127.1',
  '0x7f000001',
  '2130706433',
  '0177.0.0.1',
  '0.0.0.0',
  'localhost',
  'localhost.',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '169.254.169.254',
  '[fd00:ec2::254]',
  '10.0.0.1',
  '192.168.1.1',
  '100.64.0.1',
]

describe('a provider with an internal address', () => {
  it.each(internalHosts)('is refused with 422 when it is created: %s', async (host) => {
    const manager = await service.as(['ROLE_MANAGE_SSO_PROVIDER_CONFIG'])
    const clientDomain = `https://${host}:${insidePort}/`
    const { body } = await manager
      .post('/sso-provider-configs')
      .send({ provider: 'GENERIC', clientDomain, mappingClaim: 'sub', clientId: 'x' })
      .expect(422)
    expect(body.errors).toEqual([
      { pointer: '/clientDomain', detail: expect.stringMatching(/leads to an address that/) },
    ])
  })

  it.each(internalHosts)('is not contacted by a sign-in or a test if it is already stored: %s', async (host) => {
    const manager = await service.as(['ROLE_MANAGE_SSO_PROVIDER_CONFIG', 'ROLE_SUPER_ADMIN'])
    const { code, config } = await createClientAt(service, `https://${host}:${insidePort}/`)
    const started = await service.http.get(`/api/v1/auth/sso/${code}`)
    expect([started.status, started.body.code]).toEqual([422, 'sso-address-refused'])
    const { body } = await manager.post(`/sso-provider-configs/${config}/test`).expect(200)
    expect([body.status, body.errorCode]).toEqual(['ERROR', 'SSO_ADDRESS_REFUSED'])
  })

  it('is refused with 422 for http and other schemes', async () => {
    const manager = await service.as(['ROLE_MANAGE_SSO_PROVIDER_CONFIG'])
    for (const clientDomain of [
      `http://127.0.0.1:${insidePort}/`,
      'http://93.184.216.34/',
      'file:///etc/passwd',
      'gopher://127.0.0.1/',
    ])
      await manager
        .post('/sso-provider-configs')
        .send({ provider: 'GENERIC', clientDomain, mappingClaim: 'sub' })
        .expect(422)
  })
})

describe('a provider that points to an internal address', () => {
  const provider = (clientDomain: string): ProviderConfig => ({
    id: 1,
    version: 1,
    uid: '',
    client: '',
    issuer: new URL(clientDomain),
    clientId: 'x',
    clientSecret: 'y',
    mappingClaim: 'sub',
    redirectUri: 'https://sluice.example.org/api/v1/auth/sso/callback?provider=x',
  })
  const at = (address: string) => [{ address, family: 4 }]
  /**
   * Tests a provider with the outgoing limits of the service. Only the provider itself may be on an internal address.
   */
  const testWithLookup = async (
    host: string,
    lookup: (host: string) => Promise<{ address: string; family: number }[]>,
  ) => {
    const allowed = outgoingAllowed().parse(`allowed.example.org:${allowedPort}`)
    const outgoing = ssrfSafeFetch({ allowed, ...outgoingLimits, lookup })
    try {
      return await testProvider(provider(host), createFederation(outgoing))
    } finally {
      await outgoing.close()
    }
  }

  it('through DNS rebinding is not contacted', async () => {
    const answers = [at('93.184.216.34'), at('127.0.0.1')]
    const lookup = async () => answers.shift() ?? at('127.0.0.1')
    const outgoing = ssrfSafeFetch({ allowed: outgoingAllowed().parse(''), lookup })
    const url = `https://rebinding.example.org:${insidePort}/`
    await outgoing.check(url)
    const result = await testProvider(provider(url), createFederation(outgoing))
    expect(result).toMatchObject({ status: 'ERROR', errorCode: 'SSO_ADDRESS_REFUSED' })
  })

  it('through a redirect is not contacted', async () => {
    answer = { status: 302, headers: { location: `http://127.0.0.1:${insidePort}/` }, body: {} }
    const result = await testWithLookup(`http://allowed.example.org:${allowedPort}/`, async () => at('127.0.0.1'))
    expect(result).toMatchObject({
      errorCode: 'SSO_UNREACHABLE',
      message: expect.stringMatching(/does not follow the redirect/),
    })
  })

  it.each(['jwks_uri', 'token_endpoint', 'userinfo_endpoint'])(
    'through the %s of its metadata is not contacted',
    async (name) => {
      const issuer = `http://allowed.example.org:${allowedPort}`
      const own = {
        issuer,
        authorization_endpoint: `${issuer}/a`,
        token_endpoint: `${issuer}/t`,
        jwks_uri: `${issuer}/j`,
      }
      for (const inner of [
        `http://127.0.0.1:${insidePort}/`,
        `https://169.254.169.254/`,
        `http://inside.example.org:${insidePort}/`,
      ]) {
        answer = { status: 200, headers: {}, body: { ...own, [name]: inner } }
        const result = await testWithLookup(`${issuer}/`, async () => at('127.0.0.1'))
        expect(result).toMatchObject({ status: 'ERROR', errorCode: 'SSO_ADDRESS_REFUSED' })
        expect(result.message).toContain(name)
      }
    },
  )
})
