import type { UserBody } from '@sluice/contracts'
import { skeletonOf, usernameOf } from '../../sign-in/username.ts'
import type { UserRow } from './row.ts'

/** Maps a body to columns, without password and client. Omitted fields become empty, because PUT replaces. */
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

/** Returns the audit details of a row. It lists the columns, so that a secret column added later is not included. */
export const auditedOf = (row: UserRow) => ({
  client: row.client,
  name: row.name,
  translations: row.translations,
  username: row.username,
  email: row.email,
  hasPassword: row.password_hash !== null,
  ssoAuth: row.sso_auth,
  ssoId: row.sso_id,
  auths: row.roles,
  status: row.status,
  startPage: row.start_page,
  fileAccessInstances: row.file_access_instances,
  analyticsPlatformEnabled: row.analytics_platform_enabled,
})
