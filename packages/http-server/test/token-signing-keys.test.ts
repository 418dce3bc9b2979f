import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose'
import { accessTokenAudience } from '@sluice/contracts'
import { publishedKeys, tokenVerifier } from '../src/index.ts'

let published: JWK[] | undefined
let asked = 0
let server: Server
let url: string
beforeEach(async () => {
  published = []
  asked = 0
  server = createServer((_request, response) => {
    asked += 1
    if (!published) return void response.writeHead(503).end('{}')
    response.end(JSON.stringify({ keys: published }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.close().closeAllConnections()
})

const issuer = 'https://identity.example'

async function newKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  return { jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' }, token: await tokenOf(kid, privateKey) }
}

const tokenOf = (kid: string, key: CryptoKey) =>
  new SignJWT({ sid: 'session', tenant: 'client', client_id: 'sluice' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .setIssuer(issuer)
    .setAudience(accessTokenAudience)
    .setSubject('user')
    .setIssuedAt()
    .setExpirationTime('5 minutes')
    .sign(key)

describe('the keys of the identity service', () => {
  it('are refreshed regularly, so that tokens of a withdrawn key are refused', async () => {
    const [one, two] = [await newKey('one'), await newKey('two')]
    published = [one.jwk, two.jwk]
    const verify = tokenVerifier(issuer, publishedKeys(url, { refreshMs: 100 }))
    await verify(one.token)
    published = [two.jwk]
    // No verification has refreshed the keys, so this one waits for the new keys.
    await sleep(250)
    await expect(verify(one.token)).rejects.toMatchObject({ status: 401 })
    await verify(two.token)
    published = [one.jwk]
    const refusal = async (): Promise<unknown> => {
      for (;;) {
        const error = await verify(two.token).then(
          () => sleep(5),
          (error: unknown) => error,
        )
        if (error) return error
      }
    }
    expect(await refusal()).toMatchObject({ status: 401 })
  })

  it('are fetched once for concurrent verifications and repeated unknown key ids', async () => {
    const { jwk, token } = await newKey('one')
    published = [jwk]
    const verify = tokenVerifier(issuer, publishedKeys(url))
    await Promise.all(Array.from({ length: 20 }, () => verify(token)))
    expect(asked).toBe(1)
    const stranger = await newKey('made-up')
    for (let again = 0; again < 5; again++) await expect(verify(stranger.token)).rejects.toMatchObject({ status: 401 })
    expect(asked).toBe(1)
  })

  it('are fetched again if a token has a new key id', async () => {
    const [one, two] = [await newKey('one'), await newKey('two')]
    published = [one.jwk]
    const verify = tokenVerifier(issuer, publishedKeys(url, { retryMs: 0 }))
    await verify(one.token)
    published = [one.jwk, two.jwk]
    await verify(two.token)
  })

  it('stay usable for a limited time if the identity service is down, then return 503', async () => {
    const { jwk, token } = await newKey('one')
    published = [jwk]
    const verify = tokenVerifier(issuer, publishedKeys(url, { refreshMs: 50, usableWhileDownMs: 2_000, retryMs: 20 }))
    await verify(token)
    published = undefined
    const since = performance.now()
    while (performance.now() - since < 400) {
      await verify(token)
      await sleep(20)
    }
    await sleep(1_700)
    await expect(verify(token)).rejects.toMatchObject({ status: 503, code: 'unavailable' })
    published = [jwk]
    await verify(token)
  })
})
