import { sql, type Transaction } from 'kysely'
import { randomUUID } from 'node:crypto'
import {
  type Role,
  allRoles,
  type SsoProviderConfigBody,
  type SsoProviderConfigWithCredentials,
} from '@sluice/contracts'
import { type Caller, JsonResponse, problems } from '@sluice/http-server'
import { OutgoingProblem } from '@sluice/http-client'
import type { DB } from '../../database.ts'
import { parseIssuer, sealSecret, openSecret } from '../../sign-in/federated/provider-config.ts'
import { endSessionsOfUsers } from '../../sign-in/sessions/sessions.ts'
import { assertClientUnchanged, resolveClient } from '../clients/records.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { listMissingRoles } from '../role-grant-rules.ts'
import { toProviderAudit, ssoProviderConfigRecords, type SsoProviderConfigRow } from './records.ts'

/**
 * Creates an organisation's SSO provider config. Throws 403 unless the caller holds the roles of the users who use it.
 */
export async function createSsoProviderConfig(
  body: SsoProviderConfigBody,
  input: IdentityRequestContext,
): Promise<SsoProviderConfigRow> {
  const { write, caller, config, request } = input
  await assertAddressPermitted(body, input)
  return write(async (trx) => {
    const uid = randomUUID()
    const client = await resolveClient(trx, caller, body.client?.id)
    // `assertProviderTrusted` locks the config, or the organisation if it has none yet. This lock makes a concurrent
    // change of a user's roles wait for the new config, so that the change is checked against it.
    await sql`select from clients where uid = ${client} for no key update`.execute(trx)
    await assertMayManageSsoUsers(trx, caller, client)
    const row = await ssoProviderConfigRecords.insert(trx, caller, {
      ...toProviderColumns(body),
      uid,
      client,
      client_id: body.clientId ?? null,
      client_secret: body.clientSecret ? sealSecret(uid, body.clientSecret, config.SECRET_KEYS) : null,
    })
    request.audit(row.uid, { after: toProviderAudit(row) })
    return row
  })
}

/**
 * Replaces a provider config. A new provider address requires the secret again, and unlinks all users from their
 * identities at the old provider.
 */
export async function updateSsoProviderConfig(
  uid: string,
  body: SsoProviderConfigBody,
  input: IdentityRequestContext,
): Promise<SsoProviderConfigRow> {
  const { db, write, caller, request } = input
  await ssoProviderConfigRecords.read(db, caller, uid)
  await assertAddressPermitted(body, input)
  return write(async (trx) => {
    const before = await ssoProviderConfigRecords.lock(trx, caller, uid, request.ifMatch)
    assertClientUnchanged(body, before, 'An SSO provider config')
    const columns = { ...toProviderColumns(body), ...toCredentialColumns(before, body, input) }
    if (isSignInChanged(before, columns)) await assertMayManageSsoUsers(trx, caller, before.client)
    if (isIssuerChanged(before, body)) await removeIdentities(trx, before)
    const after = await ssoProviderConfigRecords.update(trx, caller, before, columns)
    const secretChanged = before.client_secret !== after.client_secret
    request.audit(before.uid, { before: toProviderAudit(before), after: toProviderAudit(after), secretChanged })
    return after
  })
}

/**
 * Deletes a provider config, and the stored links between users and their accounts at the provider. Users can no longer
 * sign in there.
 */
export async function deleteSsoProviderConfig(
  uid: string,
  { write, caller, request }: IdentityRequestContext,
): Promise<void> {
  await write(async (trx) => {
    const before = await ssoProviderConfigRecords.lock(trx, caller, uid, request.ifMatch)
    await assertMayManageSsoUsers(trx, caller, before.client)
    await removeIdentities(trx, before)
    await ssoProviderConfigRecords.remove(trx, before)
    request.audit(before.uid, { before: toProviderAudit(before) })
  })
}

/**
 * Deletes the identities of users at the old provider, and ends the sessions opened there. Their API tokens stay,
 * because a mistyped provider address must not revoke tokens that users created for their own programs.
 */
async function removeIdentities(trx: Transaction<DB>, { id }: SsoProviderConfigRow): Promise<void> {
  await endSessionsOfUsers(trx, sql`(select user_id from sso_identities where config_id = ${id})`)
  await sql`delete from sso_identities where config_id = ${id}`.execute(trx)
}

const toProviderColumns = (body: SsoProviderConfigBody) => ({
  provider: body.provider,
  client_domain: body.clientDomain,
  mapping_claim: body.mappingClaim,
})

/** Returns whether the change points to another provider. */
const isIssuerChanged = (before: SsoProviderConfigRow, { provider, clientDomain }: SsoProviderConfigBody): boolean =>
  parseIssuer(before.provider, before.client_domain).href !== parseIssuer(provider, clientDomain).href

/**
 * Returns the columns of the client id and the encrypted secret. An absent field keeps the stored value, and null (an
 * empty string in the request) removes it.
 *
 * Throws 422 if the address of the provider changes and the body has no secret. Otherwise callers, who may not read the
 * stored secret, could have it sent to an address of their choice.
 */
function toCredentialColumns(
  before: SsoProviderConfigRow,
  body: SsoProviderConfigBody,
  { config }: IdentityRequestContext,
) {
  const { clientId, clientSecret } = body
  const keepsSecret = clientSecret === undefined
  if (keepsSecret && before.client_secret !== null && isIssuerChanged(before, body))
    throw problems.refused(
      '/clientSecret',
      'The stored secret belongs to the provider at the old address. Send the secret for the new address, or an empty string for none.',
    )
  const newSecret = clientSecret ? sealSecret(before.uid, clientSecret, config.SECRET_KEYS) : null
  return {
    client_id: clientId === undefined ? before.client_id : clientId,
    client_secret: keepsSecret ? before.client_secret : newSecret,
  }
}

/**
 * Throws 422 for an address that outgoing requests may not reach, such as a private one. Accepts an address with
 * another problem, such as one that DNS cannot resolve at the moment.
 */
async function assertAddressPermitted(
  { provider, clientDomain }: SsoProviderConfigBody,
  { federation }: IdentityRequestContext,
): Promise<void> {
  try {
    await federation.outgoing.check(parseIssuer(provider, clientDomain))
  } catch (error) {
    if (!(error instanceof OutgoingProblem)) throw error
    const isForbidden = error.refused
    if (isForbidden) throw problems.refused('/clientDomain', error.message)
  }
}

type ProviderColumns = Pick<SsoProviderConfigRow, 'provider' | 'client_domain' | 'client_id' | 'mapping_claim'>

/** Returns whether the change can affect which account a person signs in to. */
const isSignInChanged = (before: SsoProviderConfigRow, after: ProviderColumns): boolean =>
  (['provider', 'client_domain', 'client_id', 'mapping_claim'] as const).some((name) => before[name] !== after[name])

/**
 * Throws 403 unless the caller holds every role of the users who sign in at the organisation's provider, because an
 * editor of the provider config can impersonate these users.
 */
async function assertMayManageSsoUsers(trx: Transaction<DB>, caller: Caller, client: string): Promise<void> {
  const lacked = listMissingRoles(caller, allRoles)
  if (lacked.length === 0) return
  // Read only one user: reading all users of a large organisation would hold the lock for seconds.
  const { rows } = await sql<{ roles: Role[] }>`
    select roles from users where client = ${client} and sso_auth and roles && ${lacked} limit 1`.execute(trx)
  const [userWithLackedRoles] = rows
  if (!userWithLackedRoles) return
  const rolesToName = userWithLackedRoles.roles.filter((role) => lacked.includes(role))
  throw problems.forbidden(
    `Users who sign in through this provider hold roles that you lack: ${rolesToName.join(', ')}. Ask a user who holds these roles.`,
  )
}

/**
 * Updates a provider config of the given organisation. Throws 404 for a config of another one. Unlike other responses,
 * this one includes the client id and the decrypted secret.
 */
export async function updateProviderConfigOfClient(
  { clientId, uid }: { clientId: string; uid: string },
  body: SsoProviderConfigBody,
  input: IdentityRequestContext,
): Promise<JsonResponse<SsoProviderConfigWithCredentials>> {
  const { client } = await ssoProviderConfigRecords.read(input.db, input.caller, uid)
  if (client !== clientId.toLowerCase()) throw problems.notFound(ssoProviderConfigRecords.definition.noun)
  const row = await updateSsoProviderConfig(uid, body, input)
  const response = await ssoProviderConfigRecords.answer(row, input)
  const clientSecret = openSecret(row, input.config.SECRET_KEYS)
  return new JsonResponse(
    {
      ...response.body,
      ...(row.client_id !== null && { clientId: row.client_id }),
      ...(clientSecret !== undefined && { clientSecret }),
    },
    response.headers,
  )
}
