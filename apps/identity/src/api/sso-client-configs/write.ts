import { sql } from 'kysely'
import {
  cliApplication,
  consoleApplication,
  firstParty,
  maxApplicationTextLength,
  selectRoleScopes,
  type SsoClientConfigBody,
  type FieldViolation,
} from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import { toClientMetadata } from '../../openid-provider/storage/clients.ts'
import { findRedirectUriFault } from '../../redirect-uris.ts'
import { hashSecret } from '../../stored-secrets.ts'
import { toSkeleton } from '../../sign-in/username.ts'
import { assertClientUnchanged, resolveClient } from '../clients/records.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { assertGrantable, listMissingRoles } from '../role-grant-rules.ts'
import { toApplicationAudit, ssoClientConfigRecords, type SsoClientConfigRow } from './records.ts'

/**
 * Registers an application in an organisation. Throws for settings that the caller may not grant or that are invalid.
 */
export async function createSsoClientConfig(
  body: SsoClientConfigBody,
  input: IdentityRequestContext,
): Promise<SsoClientConfigRow> {
  const { write, caller, request } = input
  const hash = resolveSecretHash(body, null)
  await assertApplicationAccepted(body, hash, input)
  return write(async (trx) => {
    const client = await resolveClient(trx, caller, body.client?.id)
    const row = await ssoClientConfigRecords.insert(trx, caller, {
      ...toApplicationColumns(body),
      client,
      secret_hash: hash,
    })
    request.audit(row.uid, { after: toApplicationAudit(row) })
    return row
  })
}

/**
 * Replaces an application. A new secret revokes the tokens that the application obtained with the old secret through
 * the client credentials grant.
 */
export async function updateSsoClientConfig(
  { clientId, uid }: { clientId?: string; uid: string },
  body: SsoClientConfigBody,
  input: IdentityRequestContext,
): Promise<SsoClientConfigRow> {
  const { db, write, caller, request } = input
  // oidc-provider checks the settings before the transaction. The other checks run again with the locked row.
  const currentRow = await ssoClientConfigRecords.read(db, caller, uid)
  if (clientId !== undefined) assertApplicationInClient(clientId, currentRow)
  assertMayManageApplication(caller, currentRow)
  await assertApplicationAccepted(body, resolveSecretHash(body, currentRow.secret_hash), input)
  return write(async (trx) => {
    const before = await ssoClientConfigRecords.lock(trx, caller, uid, request.ifMatch)
    assertMayManageApplication(caller, before)
    assertClientUnchanged(body, before, 'An application')
    const columns = { ...toApplicationColumns(body), secret_hash: resolveSecretHash(body, before.secret_hash) }
    assertApplicationConsistent(body, columns.secret_hash !== null)
    const after = await ssoClientConfigRecords.update(trx, caller, before, {
      ...columns,
      ...(mustRevokeClientCredentialsTokens(before, columns) && { token_valid_after: sql`now()` }),
    })
    request.audit(uid, { before: toApplicationAudit(before), after: toApplicationAudit(after) })
    return after
  })
}

/** Deletes an application with its tokens, codes and consents. */
export async function deleteSsoClientConfig(
  uid: string,
  { write, caller, request }: IdentityRequestContext,
): Promise<void> {
  await write(async (trx) => {
    const before = await ssoClientConfigRecords.lock(trx, caller, uid, request.ifMatch)
    assertMayManageApplication(caller, before)
    await ssoClientConfigRecords.remove(trx, before)
    request.audit(before.uid, { before: toApplicationAudit(before) })
  })
}

/**
 * Throws for inconsistent settings, for scopes that are roles which the caller does not hold, and for settings that the
 * library oidc-provider rejects.
 */
async function assertApplicationAccepted(
  body: SsoClientConfigBody,
  hash: Buffer | null,
  { caller, oidc }: IdentityRequestContext,
): Promise<void> {
  assertApplicationConsistent(body, hash !== null)
  assertGrantable(caller, selectRoleScopes(body.scopes))
  const refusal = await oidc.findRejectionReason(toClientMetadata({ ...toApplicationColumns(body), secret_hash: hash }))
  if (refusal !== undefined) throw problems.malformed([{ pointer: '/', detail: refusal }])
}

/** Throws 403 if the application has scopes of roles that the caller lacks. */
function assertMayManageApplication(caller: Caller, { scopes }: SsoClientConfigRow): void {
  const lacked = listMissingRoles(caller, selectRoleScopes(scopes))
  if (lacked.length > 0)
    throw problems.forbidden(
      `This application has scopes that you lack: ${lacked.join(', ')}. Ask a user who has them.`,
    )
}

function assertApplicationInClient(client: string, row: SsoClientConfigRow): void {
  if (row.client !== client.toLowerCase()) throw problems.notFound(ssoClientConfigRecords.definition.noun)
}

/**
 * Returns the secret hash after a change. An absent secret keeps the hash; null (an empty string in the request)
 * removes it.
 */
function resolveSecretHash({ clientSecret }: SsoClientConfigBody, current: Buffer | null): Buffer | null {
  if (clientSecret === undefined) return current
  return clientSecret === null ? null : hashSecret(clientSecret)
}

/** Converts a request body to columns, except organisation and secret. */
const toApplicationColumns = (body: SsoClientConfigBody) => ({
  sso_client_id: body.ssoClientId,
  sso_client_id_skeleton: toSkeleton(body.ssoClientId),
  client_name: body.clientName,
  redirect_uris: body.redirectUris,
  scopes: body.scopes,
  grant_types: body.grantTypes.map(({ value }) => value),
})

/**
 * Returns whether a change must revoke the tokens of the application itself. After a new secret, others may know the
 * old one.
 */
function mustRevokeClientCredentialsTokens(
  before: SsoClientConfigRow,
  after: Pick<SsoClientConfigRow, 'secret_hash' | 'grant_types'>,
) {
  const isSameSecret = after.secret_hash && before.secret_hash?.equals(after.secret_hash)
  return !isSameSecret || !after.grant_types.includes('client_credentials')
}

const minDistinctCharacters = 10

/**
 * Throws 422 for the first text that is too long. Otherwise throws one problem with all inconsistencies of the
 * application's settings.
 */
function assertApplicationConsistent(body: SsoClientConfigBody, confidential: boolean): void {
  for (const name of ['ssoClientId', 'clientName'] as const)
    if (body[name].length > maxApplicationTextLength)
      throw problems.refused(`/${name}`, `Enter at most ${maxApplicationTextLength} characters.`)
  const violations = [
    ...listIdViolations(body),
    ...listSecretViolations(body),
    ...listGrantViolations(body, confidential),
    ...listRedirectViolations(body),
  ]
  if (violations.length > 0) throw problems.malformed(violations)
}

const reservedIds = [firstParty, consoleApplication, cliApplication].map(toSkeleton)

function* listIdViolations({ ssoClientId }: SsoClientConfigBody): Iterable<FieldViolation> {
  if (ssoClientId.trim() !== ssoClientId)
    yield { pointer: '/ssoClientId', detail: 'must not begin or end with a space' }
  if (reservedIds.includes(toSkeleton(ssoClientId)))
    yield { pointer: '/ssoClientId', detail: 'is reserved for the sign-in of Sluice; choose another id' }
}

/**
 * Yields a violation for a secret with few different characters, which a person may have chosen. The stored hash is
 * fast to compute, so it protects only random secrets.
 */
function* listSecretViolations({ clientSecret }: SsoClientConfigBody): Iterable<FieldViolation> {
  if (clientSecret && new Set(clientSecret).size < minDistinctCharacters)
    yield {
      pointer: '/clientSecret',
      detail: `must contain ${minDistinctCharacters} different characters; generate it randomly`,
    }
}

/** Yields the violations of grant types that contradict each other, the scopes or a missing secret. */
function* listGrantViolations(
  { grantTypes, scopes }: SsoClientConfigBody,
  confidential: boolean,
): Iterable<FieldViolation> {
  const names = new Set(grantTypes.map(({ value }) => value))
  if (names.size === 0) yield { pointer: '/grantTypes', detail: 'must have at least 1 item' }
  if (names.has('refresh_token') && !names.has('authorization_code'))
    yield { pointer: '/grantTypes', detail: 'must have authorization_code with refresh_token' }
  if (names.has('client_credentials') && !confidential)
    yield { pointer: '/clientSecret', detail: 'is required for the grant type client_credentials' }
  if (names.has('authorization_code') && !scopes.includes('openid'))
    yield { pointer: '/scopes', detail: 'must have openid for the grant type authorization_code' }
  if (scopes.includes('offline_access') && !names.has('refresh_token'))
    yield { pointer: '/scopes', detail: 'must not have offline_access without the grant type refresh_token' }
}

function listRedirectViolations({ grantTypes, redirectUris }: SsoClientConfigBody): FieldViolation[] {
  const needsRedirect = grantTypes.some(({ value }) => value === 'authorization_code')
  if (needsRedirect && redirectUris.length === 0)
    return [{ pointer: '/redirectUris', detail: 'must have at least 1 item for the grant type authorization_code' }]
  return listRedirectUriViolations(redirectUris)
}

/** Returns a violation with the reason for each rejected redirect URI. */
const listRedirectUriViolations = (uris: readonly string[]): FieldViolation[] =>
  uris.flatMap((uri, index) => {
    const detail = findRedirectUriFault(uri)
    return detail === undefined ? [] : [{ pointer: `/redirectUris/${index}`, detail }]
  })
