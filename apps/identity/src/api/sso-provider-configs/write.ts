import { randomUUID } from 'node:crypto'
import { type Transaction, sql } from 'kysely'
import { type Role, type SsoProviderConfigBody, type SsoProviderConfigWithCredentials, roles } from '@sluice/contracts'
import { JsonResponse, type Caller, OutgoingProblem, problems } from '@sluice/http'
import type { DB } from '../../database.ts'
import { issuerOf, sealedSecret, secretOf } from '../../sign-in/federated/provider-config.ts'
import { endSessionsOfUsers } from '../../sign-in/sessions.ts'
import { resolveClient } from '../clients/client-scope.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { type SsoProviderConfigRow, auditedOf, ssoProviderConfigRecords } from './records.ts'
import { missingRoles } from '../assert-grantable.ts'

export async function createSsoProviderConfig(
  body: SsoProviderConfigBody,
  input: IdentityRequestContext,
): Promise<SsoProviderConfigRow> {
  const { write, caller, config, request } = input
  await assertProviderReachable(body, input)
  return write(async (trx) => {
    const uid = randomUUID()
    const client = await resolveClient(trx, caller, body.client?.id)
    // Nobody gets a power there meanwhile, with no config yet to look at.
    await sql`select from clients where uid = ${client} for no key update`.execute(trx)
    await assertMayManageSsoUsers(trx, caller, client)
    const made = await ssoProviderConfigRecords.insert(trx, caller, {
      ...plainColumns(body),
      uid,
      client,
      client_id: body.clientId ?? null,
      client_secret: body.clientSecret ? sealedSecret(uid, body.clientSecret, config.SECRET_KEYS) : null,
    })
    request.audit(made.uid, { after: auditedOf(made) })
    return made
  })
}

/** Replaces a config. At another address, the secret must come along, and everybody signs in there for the first time. */
export async function updateSsoProviderConfig(
  uid: string,
  body: SsoProviderConfigBody,
  input: IdentityRequestContext,
): Promise<SsoProviderConfigRow> {
  const { db, write, caller, request } = input
  await ssoProviderConfigRecords.read(db, caller, uid)
  await assertProviderReachable(body, input)
  return write(async (trx) => {
    const before = await ssoProviderConfigRecords.lock(trx, caller, uid, request.ifMatch)
    if (body.client && body.client.id.toLowerCase() !== before.client)
      throw problems.refused('/client/id', 'An SSO provider config stays with its client: make a new one there.')
    const columns = { ...plainColumns(body), ...credentials(before, body, input) }
    if (rulesOverUsers(before, columns)) await assertMayManageSsoUsers(trx, caller, before.client)
    if (movesAway(before, body)) await forgetPersons(trx, before)
    const after = await ssoProviderConfigRecords.update(trx, caller, before, columns)
    const secretChanged = before.client_secret !== after.client_secret
    request.audit(before.uid, { before: auditedOf(before), after: auditedOf(after), secretChanged })
    return after
  })
}

/** Removes a config: nobody signs in there any more, and whoever did is not known from there. */
export async function deleteSsoProviderConfig(
  uid: string,
  { write, caller, request }: IdentityRequestContext,
): Promise<void> {
  await write(async (trx) => {
    const before = await ssoProviderConfigRecords.lock(trx, caller, uid, request.ifMatch)
    await assertMayManageSsoUsers(trx, caller, before.client)
    await forgetPersons(trx, before)
    await ssoProviderConfigRecords.remove(trx, before)
    request.audit(before.uid, { before: auditedOf(before) })
  })
}

/**
 * Nobody is at another provider yet who they were at the old one: what they opened there ends. Their API tokens stay: they
 * made those themselves, and a typing error in an address must not cost them all.
 */
async function forgetPersons(trx: Transaction<DB>, { id }: SsoProviderConfigRow): Promise<void> {
  await endSessionsOfUsers(trx, sql`(select user_id from sso_identities where config_id = ${id})`)
  await sql`delete from sso_identities where config_id = ${id}`.execute(trx)
}

const plainColumns = (body: SsoProviderConfigBody) => ({
  provider: body.provider,
  client_domain: body.clientDomain,
  mapping_claim: body.mappingClaim,
})

/** Is it another provider than before? */
const movesAway = (before: SsoProviderConfigRow, { provider, clientDomain }: SsoProviderConfigBody): boolean =>
  issuerOf(before.provider, before.client_domain).href !== issuerOf(provider, clientDomain).href

/** Absent keeps, null (an empty text on the wire) clears. Who may change the address may not read the secret, and would by having it sent there. */
function credentials(before: SsoProviderConfigRow, body: SsoProviderConfigBody, { config }: IdentityRequestContext) {
  const { clientId, clientSecret } = body
  if (clientSecret === undefined && before.client_secret !== null && movesAway(before, body))
    throw problems.refused(
      '/clientSecret',
      'The secret is for the provider at the old address: send the new one along, or an empty text for none.',
    )
  const sealed = clientSecret ? sealedSecret(before.uid, clientSecret, config.SECRET_KEYS) : null
  return {
    client_id: clientId === undefined ? before.client_id : clientId,
    client_secret: clientSecret === undefined ? before.client_secret : sealed,
  }
}

/** Refuses an address that would never be asked. One that cannot be looked up today may be there tomorrow. */
async function assertProviderReachable(
  { provider, clientDomain }: SsoProviderConfigBody,
  { federation }: IdentityRequestContext,
): Promise<void> {
  try {
    await federation.outgoing.check(issuerOf(provider, clientDomain))
  } catch (error) {
    if (!(error instanceof OutgoingProblem)) throw error
    if (error.refused) throw problems.refused('/clientDomain', error.message)
  }
}

type ProviderColumns = Pick<SsoProviderConfigRow, 'provider' | 'client_domain' | 'client_id' | 'mapping_claim'>

/** Does a change say who signs in as whom? */
const rulesOverUsers = (before: SsoProviderConfigRow, after: ProviderColumns): boolean =>
  (['provider', 'client_domain', 'client_id', 'mapping_claim'] as const).some((name) => before[name] !== after[name])

/**
 * Who chooses the provider of a client can be everybody who signs in there. So nobody does who lacks a role that one of them
 * holds.
 */
async function assertMayManageSsoUsers(trx: Transaction<DB>, caller: Caller, client: string): Promise<void> {
  const lacked = missingRoles(caller, roles)
  if (lacked.length === 0) return
  // One user is enough: whoever looks at all of a large client holds its lock for seconds.
  const { rows } = await sql<{ roles: Role[] }>`
    select roles from users where client = ${client} and sso_auth and roles && ${lacked} limit 1`.execute(trx)
  const [found] = rows
  if (found)
    throw problems.forbidden(
      `Users who sign in through this provider hold what you do not: ${found.roles.filter((role) => lacked.includes(role)).join(', ')}. Somebody who holds it can do this.`,
    )
}

/** The same as an update, for a client that is named, and with the credentials in the answer. */
export async function updateForClient(
  { clientId, uid }: { clientId: string; uid: string },
  body: SsoProviderConfigBody,
  input: IdentityRequestContext,
): Promise<JsonResponse<SsoProviderConfigWithCredentials>> {
  const { client } = await ssoProviderConfigRecords.read(input.db, input.caller, uid)
  if (client !== clientId.toLowerCase()) throw problems.notFound(ssoProviderConfigRecords.kind.noun)
  const row = await updateSsoProviderConfig(uid, body, input)
  const answer = await ssoProviderConfigRecords.answer(row, input)
  const clientSecret = secretOf(row, input.config.SECRET_KEYS)
  return new JsonResponse(
    {
      ...answer.body,
      ...(row.client_id !== null && { clientId: row.client_id }),
      ...(clientSecret !== undefined && { clientSecret }),
    },
    answer.headers,
  )
}
