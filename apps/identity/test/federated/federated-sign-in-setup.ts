import { createHash, randomUUID } from 'node:crypto'
import type { Request, Response } from 'express'
import { sql } from 'kysely'
import { outgoingAllowed } from '@sluice/http-client'
import { createCsrfGuard } from '../../src/csrf.ts'
import { sealSecret } from '../../src/sign-in/federated/provider-config.ts'
import { clientBody, startService, type NewUser, type Service } from '../app-under-test.ts'
import { registered, type TestProvider } from './identity-provider-stand-in.ts'

/** Starts the service and allows requests to providers on this machine. */
export const startServiceBesideProviders = (changes: Parameters<typeof startService>[0] = {}) =>
  startService({ OUTGOING_ALLOWED: outgoingAllowed().parse('127.0.0.1'), ...changes })

interface At {
  mappingClaim?: string
  clientId?: string
}

/** Creates a client whose users sign in at `issuer`. */
export async function createClientAt(service: Service, issuer: string, at: At = {}) {
  const { code } = clientBody()
  const client = await service.client({ code })
  return { client, code, config: await insertProviderConfig(service, client, issuer, at) }
}

/** Inserts a provider config, and returns its id. */
export async function insertProviderConfig(
  service: Service,
  client: string,
  issuer: string,
  { mappingClaim = 'sub', clientId = registered.clientId }: At = {},
) {
  const uid = randomUUID()
  const secret = sealSecret(uid, registered.clientSecret, service.config.SECRET_KEYS)
  await sql`
    insert into sso_provider_configs (uid, client, provider, client_id, client_secret, client_domain, mapping_claim)
    values (${uid}, ${client}, 'GENERIC', ${clientId}, ${secret}, ${issuer}, ${mappingClaim})`.execute(service.db)
  return uid
}

/** Creates a single sign-on user with this ssoId. */
export async function createSsoUser(service: Service, about: NewUser & { ssoId: string; email?: string }) {
  const user = await service.user({ ssoAuth: true, ...about })
  const { ssoId, email = 'test@example.org' } = about
  await sql`update users set sso_id = ${ssoId}, email = ${email} where uid = ${user.uid}`.execute(service.db)
  return user
}

const pathOf = (url: string) => new URL(url).pathname + new URL(url).search

/** Starts a sign-in. Returns the authorization URL of the provider and the cookie of the browser. */
export async function startSignIn(service: Service, code: string, { query = '', cookie: before = '' } = {}) {
  const answer = await service.http.get(`/api/v1/auth/sso/${code}${query}`).set('cookie', before).expect(302)
  const [cookie = ''] = answer.headers['set-cookie'] as unknown as string[]
  return { location: answer.headers.location as string, setCookie: cookie, cookie: cookie.split(';')[0]! }
}

/** Opens an interaction page. Returns the query of its link to a provider and the cookie of the browser. */
export async function openInteractionPage(service: Service, interaction: string) {
  const id = createHash('sha256').update(interaction).digest()
  await sql`
    insert into oidc_models (model, id_hash, payload, expires_at)
    values ('Interaction', ${id}, '{}', now() + interval '1 hour') on conflict do nothing`.execute(service.db)
  let cookie = ''
  const request = { headers: {} } as Request
  const set = (name: string, value: string) => void (cookie = `${name}=${value}`)
  const response = { locals: {}, cookie: set } as unknown as Response
  const mark = createCsrfGuard(service.config).issueLinkProof(request, response, interaction)
  return { query: `?${new URLSearchParams({ interaction, mark })}`, cookie }
}

/** Requests the authorization URL of the provider, and returns the callback URL that it redirects to. */
export async function followRedirect(location: string): Promise<string> {
  const answer = await fetch(location, { redirect: 'manual' })
  return answer.headers.get('location')!
}

/** Requests the callback URL, as a browser does after the redirect of the provider. */
export const requestCallback = (service: Service, url: string, cookie: string) =>
  service.http.get(pathOf(url)).set('cookie', cookie)

/** Signs in at the provider: start, redirect and callback. */
export async function signInAtProvider(service: Service, code: string, from: Parameters<typeof startSignIn>[2] = {}) {
  const { location, cookie } = await startSignIn(service, code, from)
  return requestCallback(service, await followRedirect(location), cookie)
}

/** Creates a client with a user, and makes the provider authenticate this user from now on. */
export async function createFederatedUser(
  service: Service,
  provider: TestProvider,
  about: Partial<Parameters<typeof createSsoUser>[1]> = {},
) {
  const at = await createClientAt(service, provider.issuer)
  const ssoId = randomUUID()
  provider.person = { sub: ssoId }
  return { ...at, ssoId, user: await createSsoUser(service, { client: at.client, ssoId, ...about }) }
}

/** Throttles callbacks from one network. Returns an address of the network, and a function that ends the wait. */
export async function throttleNetwork(service: Service) {
  const key = 'sso:198.51.100.0/24'
  await sql`
    insert into sign_in_attempts (key, failures, last_at, blocked_until)
    values (${key}, 101, now(), now() + interval '30 seconds')
    on conflict (key) do update set blocked_until = excluded.blocked_until`.execute(service.db)
  return {
    address: '198.51.100.7',
    endWait: () => sql`delete from sign_in_attempts where key = ${key}`.execute(service.db),
  }
}
