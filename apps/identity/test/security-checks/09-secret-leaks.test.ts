import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { identityOperations, secretName, type OperationSignature } from '@sluice/contracts'
import { goodPassword, userBody, type Service } from '../app-under-test.ts'
import { startServiceBesideProviders } from '../federated/federated-sign-in-setup.ts'
import { validRequests } from '../valid-requests/valid-requests.ts'

let service: Service
beforeAll(async () => {
  service = await startServiceBesideProviders()
})
afterAll(() => service.stop())

const signatures = Object.values(identityOperations).flatMap((noun): OperationSignature[] => Object.values(noun))

/** Operations whose purpose is to return a secret. The responses of all others are searched for secrets. */
const returnsSecret = new Set([
  'auth.login',
  'auth.loginWithCode',
  'auth.refresh',
  'auth.finishSso',
  'account.enrolSecondFactor',
  'account.confirmSecondFactor',
  'account.renewRecoveryCodes',
  'account.createApiToken',
  // Without an SMTP server, the inviter gets the link, and administrators read the stored mails.
  'users.invite',
  'users.resendInvitation',
  'users.copy',
  'mails.read',
  // The only response with the secret of a provider config, for super admins.
  'ssoProviderConfigs.updateForClient',
])

const isSecret = (name: string) =>
  secretName.test(name) || /^(recoveryCodes|invitationLink|qrCode|uri|ticket)$/.test(name)

/**
 * Returns every string in a property with a secret's name. Omits strings of less than eight characters, which are words
 * or one-time codes.
 */
const secretsIn = (value: unknown, inside = false): string[] => {
  if (typeof value === 'string') return inside && value.length >= 8 ? [value] : []
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, part]) => secretsIn(part, inside || isSecret(name)))
}

/**
 * Returns the hashes and encrypted values in the database. Hexadecimal hashes are returned as base64 too, the form in
 * which a buffer would leak.
 */
async function storedSecrets(): Promise<string[]> {
  const { rows } = await sql<{ value: string }>`
    select password_hash as value from users where password_hash is not null
    union select private_key from signing_keys
    union select seed from second_factors
    union select client_secret from sso_provider_configs where client_secret is not null
    union select encode(token_hash, 'hex') from refresh_tokens
    union select encode(token_hash, 'hex') from api_tokens
    union select encode(code_hash, 'hex') from recovery_codes
    union select encode(token_hash, 'hex') from links
    union select encode(secret_hash, 'hex') from sso_client_configs where secret_hash is not null`.execute(service.db)
  return rows.flatMap(({ value }) =>
    /^[\da-f]{64}$/.test(value)
      ? [value, ...(['base64', 'base64url'] as const).map((form) => Buffer.from(value, 'hex').toString(form))]
      : [value],
  )
}

it('no response, audit entry or log line contains a secret, except the responses that return one', async () => {
  const admin = await service.as(['ROLE_SUPER_ADMIN'])
  const good = validRequests({ service, admin })
  const secrets = new Set([goodPassword, admin.tokens.accessToken, admin.tokens.refreshToken])
  const responses: string[] = []
  const keep = async (id: string, request: PromiseLike<{ text: string; body: unknown; headers: object }>) => {
    const { text, body, headers } = await request
    if (returnsSecret.has(id)) for (const secret of secretsIn(body)) secrets.add(secret)
    else responses.push(`${id}: ${text} ${JSON.stringify(headers)}`)
  }

  for (const { id, method, path, guard } of signatures) {
    const { uid, params = {}, query = '', body, by } = await good[id]!()
    for (const secret of secretsIn(body)) secrets.add(secret)
    const pathWithIds = path.replaceAll(
      /:(\w+)/g,
      (_all, name) => params[name] ?? (name === 'uid' ? uid : undefined) ?? randomUUID(),
    )
    const caller =
      by ?? (guard === 'service' ? service.service() : await service.as(['ROLE_SUPER_ADMIN'], admin.client))
    // An invalid request, whose error could repeat its secrets, then a valid one.
    if (body) await keep(`${id} refused`, caller[method](pathWithIds).send({ ...body, surprise: goodPassword }))
    await keep(id, caller[method](`${pathWithIds}${query}`).send(body))
  }
  for (const path of [
    '/users',
    '/sso-client-configs',
    '/sso-provider-configs',
    '/reports/audit',
    '/reports/user-access',
  ])
    await keep(path, admin.get(`${path}?pageSize=1000`))
  for (const path of ['/openapi.json', '/.well-known/jwks.json', '/metrics', '/health/ready', '/nowhere'])
    await keep(path, service.http.get(path))
  const guessed = { username: admin.username, password: 'a-guess-that-is-wrong' }
  secrets.add(guessed.password)
  await keep('wrong password', service.http.post('/api/v1/auth/login').send(guessed))
  const duplicate = userBody({ username: admin.username, password: 'words-for-a-name-taken' })
  secrets.add(duplicate.password!)
  await keep('conflict', admin.post('/users').send(duplicate))

  const audit = await sql<{ row: string }>`select a::text as row from audit a`.execute(service.db)
  expect(audit.rows.length).toBeGreaterThan(signatures.filter(({ effect }) => effect === 'write').length)
  const outputs = [...responses, ...service.lines, ...audit.rows.map(({ row }) => row)]
  const leaks = [...secrets, ...(await storedSecrets()), '$argon2', 'PRIVATE KEY', '"d":'].flatMap((secret) =>
    outputs.filter((text) => text.includes(secret)).map((text) => ({ secret, in: text.slice(0, 300) })),
  )
  expect(leaks).toEqual([])
  expect(secrets.size).toBeGreaterThan(20)
})

it('private keys, second-factor seeds and client secrets are sealed in the database', async () => {
  await service.http.get('/.well-known/jwks.json').expect(200)
  const { rows } = await sql<{ sealed: string }>`
    select private_key as sealed from signing_keys union all select seed from second_factors
    union all select client_secret from sso_provider_configs where client_secret is not null`.execute(service.db)
  expect(rows.length).toBeGreaterThan(2)
  for (const { sealed } of rows) expect(sealed).toMatch(/^test\.[\w-]+\.[\w-]+$/)
  const keys = await sql<{ public_jwk: object }>`select public_jwk from signing_keys`.execute(service.db)
  for (const { public_jwk } of keys.rows) expect(public_jwk).not.toHaveProperty('d')
})
