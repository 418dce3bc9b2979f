import { createHash, randomUUID } from 'node:crypto'
import type { Request, Response } from 'express'
import { sql } from 'kysely'
import { outgoingAllowed } from '@sluice/http-client'
import { createCsrfGuard } from '../../src/csrf.ts'
import { sealSecret } from '../../src/sign-in/federated/provider-config.ts'
import { clientBody, startService, type NewUser, type Service } from '../app-under-test.ts'
import { registered, type TestProvider } from './test-provider.ts'

/** The service, which may ask providers on this machine. */
export const startServiceBesideProviders = (changes: Parameters<typeof startService>[0] = {}) =>
  startService({ OUTGOING_ALLOWED: outgoingAllowed().parse('127.0.0.1'), ...changes })

interface At {
  mappingClaim?: string
  clientId?: string
}

/** A client whose users sign in at `issuer`, and its code. */
export async function clientOf(service: Service, issuer: string, at: At = {}) {
  const { code } = clientBody()
  const client = await service.client({ code })
  return { client, code, config: await configOf(service, client, issuer, at) }
}

/** Lets the users of a client sign in at `issuer`. */
export async function configOf(
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

/** A user who signs in elsewhere and is found by this ssoId. */
export async function ssoUser(service: Service, about: NewUser & { ssoId: string; email?: string }) {
  const user = await service.user({ ssoAuth: true, ...about })
  const { ssoId, email = 'test@example.org' } = about
  await sql`update users set sso_id = ${ssoId}, email = ${email} where uid = ${user.uid}`.execute(service.db)
  return user
}

const pathOf = (url: string) => new URL(url).pathname + new URL(url).search

/** Begins a sign-in: where the provider is asked to sign in, and the browser's cookie. */
export async function begin(service: Service, code: string, { query = '', cookie: before = '' } = {}) {
  const answer = await service.http.get(`/api/v1/auth/sso/${code}${query}`).set('cookie', before).expect(302)
  const [cookie = ''] = answer.headers['set-cookie'] as unknown as string[]
  return { location: answer.headers.location as string, setCookie: cookie, cookie: cookie.split(';')[0]! }
}

/** A page of the OpenID Provider, open in a browser: what its link to a provider asks, and the browser's cookie. */
export async function pageOpen(service: Service, interaction: string) {
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

/** What a browser does at the provider: nothing but to follow. Answers the address that it is sent back to. */
export async function followed(location: string): Promise<string> {
  const answer = await fetch(location, { redirect: 'manual' })
  return answer.headers.get('location')!
}

/** Comes back to the service from the provider. */
export const comeBack = (service: Service, url: string, cookie: string) =>
  service.http.get(pathOf(url)).set('cookie', cookie)

/** The whole way. */
export async function signInThrough(service: Service, code: string, from: Parameters<typeof begin>[2] = {}) {
  const { location, cookie } = await begin(service, code, from)
  return comeBack(service, await followed(location), cookie)
}

/** A client with a user whom the provider signs in from now on. */
export async function somebodyAt(
  service: Service,
  provider: TestProvider,
  about: Partial<Parameters<typeof ssoUser>[1]> = {},
) {
  const at = await clientOf(service, provider.issuer)
  const ssoId = randomUUID()
  provider.person = { sub: ssoId }
  return { ...at, ssoId, user: await ssoUser(service, { client: at.client, ssoId, ...about }) }
}

/** An address from which too many ways back have failed. */
export async function networkThatWaits(service: Service) {
  const key = 'sso:198.51.100.0/24'
  await sql`
    insert into sign_in_attempts (key, failures, last_at, blocked_until)
    values (${key}, 101, now(), now() + interval '30 seconds')
    on conflict (key) do update set blocked_until = excluded.blocked_until`.execute(service.db)
  return {
    address: '198.51.100.7',
    ends: () => sql`delete from sign_in_attempts where key = ${key}`.execute(service.db),
  }
}
