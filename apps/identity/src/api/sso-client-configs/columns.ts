import type { SsoClientConfigBody } from '@sluice/contracts'
import { secretHash } from '../../secret-hash.ts'
import { skeletonOf } from '../../sign-in/username.ts'
import type { SsoClientConfigRow } from './records.ts'

/** The secret's hash after a body: absent keeps what is stored, null (an empty text on the wire) clears it. */
export function secretAfter({ clientSecret }: SsoClientConfigBody, current: Buffer | null): Buffer | null {
  if (clientSecret === undefined) return current
  return clientSecret === null ? null : secretHash(clientSecret)
}

/** What a body says of an application, its client and secret aside. */
export const ssoClientConfigColumns = (body: SsoClientConfigBody) => ({
  sso_client_id: body.ssoClientId,
  sso_client_id_skeleton: skeletonOf(body.ssoClientId),
  client_name: body.clientName,
  redirect_uris: body.redirectUris,
  scopes: body.scopes,
  grant_types: body.grantTypes.map(({ value }) => value),
})

/** Does a change end what the application was issued for itself? A new secret means that the old one may be known to others. */
export function takesBack(before: SsoClientConfigRow, after: Pick<SsoClientConfigRow, 'secret_hash' | 'grant_types'>) {
  const same = after.secret_hash && before.secret_hash?.equals(after.secret_hash)
  return !same || !after.grant_types.includes('client_credentials')
}
