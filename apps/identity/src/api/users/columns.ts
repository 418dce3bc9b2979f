import type { UserBody } from '@sluice/contracts'
import { skeletonOf, usernameOf } from '../../sign-in/username.ts'
import type { UserRow } from './records.ts'

/** What a body says of a user, password and client aside. What it leaves out is empty: PUT replaces. */
export function userColumns(body: UserBody) {
  const username = usernameOf(body.username)
  return {
    name: body.name,
    translations: JSON.stringify(body.translations ?? []),
    username,
    username_skeleton: skeletonOf(username),
    email: body.email,
    sso_auth: body.ssoAuth,
    sso_id: body.ssoId || null,
    roles: body.auths ?? [],
    start_page: body.startPage,
    file_access_instances: body.fileAccessInstances ?? [],
    analytics_platform_enabled: body.analyticsPlatformEnabled ?? false,
  }
}

/** The row for the audit: all but what nobody may read. */
export const auditedOf = ({ password_hash, ...row }: UserRow) => ({ ...row, password: password_hash !== null })
