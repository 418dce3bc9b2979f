import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose'

/** The claims of a user of the provider. */
export interface ProviderUser {
  sub: string
  [claim: string]: unknown
}

/** Deviations from a correct provider. None by default. */
export interface Misbehaviour {
  metadata?: Record<string, unknown>
  /** Changes the claims of the ID token. */
  claims?(claims: Record<string, unknown>): Record<string, unknown>
  /** Creates the ID token from its claims, instead of signing them. */
  token?(claims: Record<string, unknown>): Promise<string> | string
  /** Parameters of the authorization response. Undefined omits one. */
  back?: Record<string, string | undefined>
  /** Handles a request itself, and returns true, or returns false. */
  answer?(request: IncomingMessage, response: ServerResponse): boolean
  /** Claims that only the UserInfo response contains. */
  hidden?: Record<string, unknown>
}

interface Issued {
  redirectUri: string
  challenge: string
  nonce: string | undefined
  person: ProviderUser
}

const secret = 'provider-secret-of-tests'
export const registered = { clientId: 'sluice-at-the-provider', clientSecret: secret }

export type TestProvider = Awaited<ReturnType<typeof startTestProvider>>

/** Starts an OpenID Provider on loopback that authenticates every request as `person`, without a password. */
export async function startTestProvider() {
  const codes = new Map<string, Issued>()
  const requestedPaths: string[] = []
  let key = await newKey()
  const state = { person: { sub: randomUUID() } as ProviderUser, misbehaviour: {} as Misbehaviour, lastSub: '' }

  const server = createServer((request, response) => void answer(request, response))
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', issuer)
    requestedPaths.push(url.pathname)
    if (state.misbehaviour.answer?.(request, response)) return
    const json = (body: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (url.pathname === '/.well-known/openid-configuration') json(metadata())
    else if (url.pathname === '/jwks') json({ keys: [key.public] })
    else if (url.pathname === '/authorize') response.writeHead(302, { location: authorize(url).href }).end()
    else if (url.pathname === '/userinfo') json({ sub: state.lastSub, ...state.misbehaviour.hidden })
    else if (url.pathname === '/token') await exchange(request, json)
    else response.writeHead(404).end()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  server.unref()

  const metadata = () => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    id_token_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    userinfo_endpoint: `${issuer}/userinfo`,
    ...state.misbehaviour.metadata,
  })

  function authorize(url: URL): URL {
    const { searchParams } = url
    const code = randomBytes(16).toString('hex')
    codes.set(code, {
      redirectUri: searchParams.get('redirect_uri')!,
      challenge: searchParams.get('code_challenge') ?? '',
      nonce: searchParams.get('nonce') ?? undefined,
      person: state.person,
    })
    const back = new URL(searchParams.get('redirect_uri')!)
    const answers = { code, state: searchParams.get('state')!, iss: issuer, ...state.misbehaviour.back }
    for (const [name, value] of Object.entries(answers)) if (value !== undefined) back.searchParams.set(name, value)
    return back
  }

  async function exchange(request: IncomingMessage, json: (body: object, status?: number) => void): Promise<void> {
    const form = new URLSearchParams(await textOf(request))
    if (credentialsOf(request) !== `${registered.clientId}:${secret}`) return json({ error: 'invalid_client' }, 401)
    const issued = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (!issued || issued.redirectUri !== form.get('redirect_uri') || issued.challenge !== challenge)
      return json({ error: 'invalid_grant' }, 400)
    const now = Math.floor(Date.now() / 1000)
    const plain = { iss: issuer, aud: registered.clientId, iat: now, exp: now + 300, nonce: issued.nonce }
    const claims = state.misbehaviour.claims?.({ ...plain, ...issued.person }) ?? { ...plain, ...issued.person }
    state.lastSub = issued.person.sub
    const token = (await state.misbehaviour.token?.(claims)) ?? (await sign(claims))
    json({ access_token: 'at', token_type: 'Bearer', expires_in: 60, id_token: token })
  }

  const sign = (claims: Record<string, unknown>, by = key) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: by.public.kid }).sign(by.private)

  return {
    issuer,
    /** The paths of all requests. */
    requestedPaths,
    /** The user of the next sign-ins. */
    set person(person: ProviderUser) {
      state.person = person
    },
    set misbehaviour(misbehaviour: Misbehaviour) {
      state.misbehaviour = misbehaviour
    },
    publicKey: () => key.public,
    sign,
    newKey,
    async rotate() {
      key = await newKey()
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function newKey() {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const kid = randomUUID()
  return {
    public: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } as JWK & { kid: string },
    private: privateKey,
  }
}

/** The Basic credentials of a request. RFC 6749 2.3.1: id and secret are form-encoded before they are joined. */
const credentialsOf = ({ headers }: IncomingMessage): string =>
  decodeURIComponent(Buffer.from((headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString())

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}
