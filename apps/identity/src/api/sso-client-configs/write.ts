import { sql } from 'kysely'
import { type SsoClientConfigBody, roleScopes } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import { applicationMetadata } from '../../openid-provider/storage/clients.ts'
import { resolveClient } from '../clients/client-scope.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { assertGrantable, missingRoles } from '../assert-grantable.ts'
import { type SsoClientConfigRow, auditedOf, ssoClientConfigRecords } from './records.ts'
import { assertConsistent } from './rules.ts'
import { secretHash } from '../../secrets.ts'
import { skeletonOf } from '../../sign-in/username.ts'

export async function createSsoClientConfig(
  body: SsoClientConfigBody,
  input: IdentityRequestContext,
): Promise<SsoClientConfigRow> {
  const { write, caller, request } = input
  const hash = secretAfter(body, null)
  await assertAcceptable(body, hash, input)
  return write(async (trx) => {
    const client = await resolveClient(trx, caller, body.client?.id)
    const made = await ssoClientConfigRecords.insert(trx, caller, {
      ...ssoClientConfigColumns(body),
      client,
      secret_hash: hash,
    })
    request.audit(made.uid, { after: auditedOf(made) })
    return made
  })
}

/** Replaces an application. A new secret revokes the tokens that the application got for itself with the old secret. */
export async function updateSsoClientConfig(
  { clientId, uid }: { clientId?: string; uid: string },
  body: SsoClientConfigBody,
  input: IdentityRequestContext,
): Promise<SsoClientConfigRow> {
  const { db, write, caller, request } = input
  const seen = await ssoClientConfigRecords.read(db, caller, uid)
  if (clientId !== undefined) assertScopesGrantable(clientId, seen)
  assertMayManageApplication(caller, seen)
  await assertAcceptable(body, secretAfter(body, seen.secret_hash), input)
  return write(async (trx) => {
    const before = await ssoClientConfigRecords.lock(trx, caller, uid, request.ifMatch)
    assertMayManageApplication(caller, before)
    if (body.client && body.client.id.toLowerCase() !== before.client)
      throw problems.refused('/client/id', 'An application stays with its client: make a new one there.')
    const columns = { ...ssoClientConfigColumns(body), secret_hash: secretAfter(body, before.secret_hash) }
    assertConsistent(body, columns.secret_hash !== null)
    const after = await ssoClientConfigRecords.update(trx, caller, before, {
      ...columns,
      ...(takesBack(before, columns) && { token_valid_after: sql`now()` }),
    })
    request.audit(uid, { before: auditedOf(before), after: auditedOf(after) })
    return after
  })
}

/** Deletes an application and everything that was issued to it. */
export async function deleteSsoClientConfig(
  uid: string,
  { write, caller, request }: IdentityRequestContext,
): Promise<void> {
  await write(async (trx) => {
    const before = await ssoClientConfigRecords.lock(trx, caller, uid, request.ifMatch)
    assertMayManageApplication(caller, before)
    await ssoClientConfigRecords.remove(trx, before)
    request.audit(before.uid, { before: auditedOf(before) })
  })
}

/** Rejects scopes that the caller does not hold, and metadata that oidc-provider rejects. */
async function assertAcceptable(
  body: SsoClientConfigBody,
  hash: Buffer | null,
  { caller, oidc }: IdentityRequestContext,
): Promise<void> {
  assertConsistent(body, hash !== null)
  assertGrantable(caller, roleScopes(body.scopes))
  const refusal = await oidc.refusalOf(applicationMetadata({ ...ssoClientConfigColumns(body), secret_hash: hash }))
  if (refusal !== undefined) throw problems.malformed([{ pointer: '/', detail: refusal }])
}

/** Callers may not change or delete an application with roles that they lack. */
function assertMayManageApplication(caller: Caller, { scopes }: SsoClientConfigRow): void {
  const lacked = missingRoles(caller, roleScopes(scopes))
  if (lacked.length > 0) throw problems.forbidden(`This application may do what you may not: ${lacked.join(', ')}.`)
}

function assertScopesGrantable(client: string, row: SsoClientConfigRow): void {
  if (row.client !== client.toLowerCase()) throw problems.notFound(ssoClientConfigRecords.kind.noun)
}

/** Returns the secret hash after a change. Absent keeps the stored hash; null (an empty text on the wire) clears it. */
function secretAfter({ clientSecret }: SsoClientConfigBody, current: Buffer | null): Buffer | null {
  if (clientSecret === undefined) return current
  return clientSecret === null ? null : secretHash(clientSecret)
}

/** Maps a body to columns, without client and secret. */
const ssoClientConfigColumns = (body: SsoClientConfigBody) => ({
  sso_client_id: body.ssoClientId,
  sso_client_id_skeleton: skeletonOf(body.ssoClientId),
  client_name: body.clientName,
  redirect_uris: body.redirectUris,
  scopes: body.scopes,
  grant_types: body.grantTypes.map(({ value }) => value),
})

/** Returns whether a change revokes the application's own tokens. After a new secret, others may know the old one. */
function takesBack(before: SsoClientConfigRow, after: Pick<SsoClientConfigRow, 'secret_hash' | 'grant_types'>) {
  const same = after.secret_hash && before.secret_hash?.equals(after.secret_hash)
  return !same || !after.grant_types.includes('client_credentials')
}
