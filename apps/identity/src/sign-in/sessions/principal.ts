import { type Kysely, type Transaction, sql } from 'kysely'
import {
  type Client,
  type Credential,
  type GrantType,
  type Role,
  type PrincipalState,
  type UserStatus,
  consoleApplication,
  selectRoleScopes,
  selectHeldRoles,
} from '@sluice/contracts'
import type { DB } from '../../database.ts'
import { splitRoles } from '../../effective-roles.ts'
import { prepared } from '@sluice/database'
import { isOpenSession } from './sessions.ts'
import { isUid } from '../../is-uid.ts'
import { apiTokenIsUsable, decodeTokenHash } from '../tokens/api-tokens.ts'
import { type Caller, isCallerUnchanged, problems } from '@sluice/http-server'

/** The organisation for which a principal acts. */
interface PrincipalClientRow {
  client: string
  client_code: string
  disabled: boolean
  domain: Client['domain']
  manager_enabled: boolean
  routes_enabled: boolean
  pipelines_enabled: boolean
  time_zone: string | null
}

interface ApplicationPrincipalRow extends PrincipalClientRow {
  uid: string
  sso_client_id: string
  client_name: string
  scopes: string[]
  grant_types: GrantType[]
  token_valid_after: Date
  organisation: string
}

/** Finds an application that acts on its own behalf, in its own organisation and with the roles among its scopes. */
async function findApplicationPrincipal(db: Kysely<DB>, { id }: Credential): Promise<PrincipalState | undefined> {
  const { rows } = await sql<ApplicationPrincipalRow>`
    ${prepared('application-principal')} select a.uid, a.sso_client_id, a.client_name, a.scopes, a.grant_types, a.token_valid_after,
      c.uid as client, c.code as client_code, c.name as organisation, c.disabled, c.domain,
      c.manager_enabled, c.routes_enabled, c.pipelines_enabled, c.time_zone
    from sso_client_configs a join clients c on c.uid = a.client
    where a.sso_client_id = ${id}`.execute(db)
  const row = rows[0]
  return (
    row && {
      kind: 'application',
      id: row.uid,
      username: row.sso_client_id,
      name: row.client_name,
      status: 'ACTIVE',
      tokenValidAfter: row.token_valid_after.toISOString(),
      open: row.grant_types.includes('client_credentials'),
      ...splitRoles(selectRoleScopes(row.scopes), row),
      userGroups: [],
      client: toPrincipalClient(row, row.organisation),
    }
  )
}

interface ApiTokenPrincipalRow extends UserPrincipalRow {
  key: number
  token_roles: Role[]
  is_use_due: boolean
}

/**
 * Finds the user of an API token. It acts for the user's own organisation, with those of its roles that the user still
 * holds.
 */
async function findApiTokenPrincipal(db: Kysely<DB>, { id: hash }: Credential): Promise<PrincipalState | undefined> {
  const { rows } = await sql<ApiTokenPrincipalRow>`
    select ${principalColumns}, ${apiTokenIsUsable} as open, t.id as key, t.roles as token_roles,
      t.last_used_at is null or t.last_used_at < now() - interval '1 minute' as is_use_due
    from api_tokens t
    join users u on u.id = t.user_id
    join clients own on own.uid = u.client
    join clients c on c.uid = u.client
    where t.token_hash = ${decodeTokenHash(hash)}`.execute(db)
  const row = rows[0]
  if (!row) return undefined
  if (row.open && row.is_use_due) await recordTokenUse(db, row.key)
  return toUserPrincipal('api-token', { ...row, roles: selectHeldRoles(row.roles, row.token_roles.join(' ')) })
}

/** Stores the time of a token's use, at most once a minute across all processes, to limit writes. */
async function recordTokenUse(db: Kysely<DB>, key: number): Promise<void> {
  await sql`
    update api_tokens set last_used_at = now()
    where id = ${key} and (last_used_at is null or last_used_at < now() - interval '1 minute')`.execute(db)
}

/**
 * Finds a user by one of their sessions. The user acts for the session's organisation. The console acts like a direct
 * sign-in as long as its grant exists.
 */
async function findSessionPrincipal(
  db: Kysely<DB>,
  { id: user, session = '', application, grant }: Credential,
): Promise<PrincipalState | undefined> {
  if (!isUid(user) || !isUid(session)) return undefined
  const isConsole = application === consoleApplication
  if (application !== undefined && !isConsole)
    return findApplicationSessionPrincipal(db, { user, session, application, grant })
  const open = isConsole ? sql`${isOpenSession} and ${isOpenGrant(application, grant)}` : isOpenSession
  const { rows } = await sql<UserPrincipalRow>`
    ${prepared(isConsole ? 'console-principal' : 'session-principal')}
    select ${principalColumns}, coalesce(${open}, false) as open
    from users u
    join clients own on own.uid = u.client
    left join sessions s on s.user_id = u.id and s.uid = ${session}
    join clients c on c.uid = coalesce(s.client, u.client)
    where u.uid = ${user}`.execute(db)
  return rows[0] && toUserPrincipal('session', rows[0])
}

/**
 * SQL condition: the session `s` has the grant for the application (see `AccessTokenClaims`). If the grant is deleted,
 * the application's tokens become invalid.
 */
const isOpenGrant = (application: string, grant = '') => sql`exists (
  select from oidc_models m join sso_client_configs g on g.id = m.sso_client_config_id
  where m.model = 'Grant' and m.id_hash = ${Buffer.from(grant, 'base64url')} and m.session_id = s.id
    and g.sso_client_id = ${application})`

interface ApplicationSessionRow extends UserPrincipalRow {
  /** The scopes that the application currently has and the user granted. */
  scopes: Role[]
}

/**
 * Finds a user who signed in to the command line or to an application of their organisation. The application must exist
 * and have the user's consent. It always acts for the user's own organisation, even if the user switches the session to
 * another one.
 */
async function findApplicationSessionPrincipal(
  db: Kysely<DB>,
  credential: { user: string; session: string; application: string; grant: string | undefined },
): Promise<PrincipalState | undefined> {
  const { user, session, application, grant } = credential
  const { rows } = await sql<ApplicationSessionRow>`
    ${prepared('application-session-principal')} select ${principalColumns},
      coalesce(${isOpenSession} and ${isOpenGrant(application, grant)} and k.user_id is not null
        and (a.client is null or 'authorization_code' = any(a.grant_types)), false) as open,
      array(select scope from unnest(k.scopes) as scope where a.client is null or scope = any(a.scopes)) as scopes
    from users u
    join clients own on own.uid = u.client
    left join sessions s on s.user_id = u.id and s.uid = ${session}
    join clients c on c.uid = u.client
    left join sso_client_configs a on a.sso_client_id = ${application} and (a.client = u.client or a.client is null)
    left join application_consents k on k.user_id = u.id and k.sso_client_config_id = a.id
    where u.uid = ${user}`.execute(db)
  const [row] = rows
  if (!row) return undefined
  const { roles, dormantRoles = [], ...principal } = toUserPrincipal('session', row)
  const limitToScopes = (heldRoles: Role[]) => selectHeldRoles(heldRoles, row.scopes.join(' '))
  return { ...principal, roles: limitToScopes(roles), dormantRoles: limitToScopes(dormantRoles) }
}

type PrincipalLookup = (db: Kysely<DB>, credential: Credential) => Promise<PrincipalState | undefined>

/** Maps each kind of credential to the function that finds its principal. */
const lookUpByKind: Record<Credential['kind'], PrincipalLookup> = {
  session: findSessionPrincipal,
  application: findApplicationPrincipal,
  'api-token': findApiTokenPrincipal,
}

/** Finds the current principal of a credential; undefined if the credential is invalid. */
export const findPrincipal: PrincipalLookup = (db, credential) => lookUpByKind[credential.kind](db, credential)

export interface UserPrincipalRow extends PrincipalClientRow {
  id: string
  username: string
  name: string
  status: UserStatus
  token_valid_after: Date
  open: boolean
  roles: Role[]
  user_groups: string[]
  client_name: string
}

/**
 * The columns of a principal: the user `u` of the organisation `own`, who acts for the organisation `c`. Each query
 * adds a column `open`, which depends on the credential.
 */
export const principalColumns = sql`
  u.uid as id, u.username, u.name, u.status, u.token_valid_after, u.roles,
  array(
    select g.uid from user_group_members m join user_groups g on g.id = m.user_group_id
    where m.user_id = u.id order by g.id limit 1000
  )::text[] as user_groups,
  c.uid as client, c.code as client_code, c.name as client_name, c.disabled or own.disabled as disabled, c.domain,
  c.manager_enabled, c.routes_enabled, c.pipelines_enabled, c.time_zone`

/** Converts the row of a user to the principal. The organisation's feature switches limit the roles. */
export const toUserPrincipal = (kind: PrincipalState['kind'], row: UserPrincipalRow): PrincipalState => ({
  kind,
  id: row.id,
  username: row.username,
  name: row.name,
  status: row.status,
  tokenValidAfter: row.token_valid_after.toISOString(),
  open: row.open,
  ...splitRoles(row.roles, row),
  userGroups: row.user_groups,
  client: toPrincipalClient(row, row.client_name),
})

const toPrincipalClient = (row: PrincipalClientRow, name: string): PrincipalState['client'] => ({
  id: row.client,
  code: row.client_code,
  name,
  disabled: row.disabled,
  domain: row.domain,
  pipelinesEnabled: row.pipelines_enabled,
  timeZone: row.time_zone ?? 'UTC',
})

/**
 * Locks the caller's user or application until the transaction ends, and reads the principal again. Throws 401 if the
 * caller was deactivated, lost a role or was signed out since the request arrived. Concurrent changes of that kind wait
 * for this transaction.
 */
export async function assertPrincipalUnchanged(trx: Transaction<DB>, caller: Caller): Promise<void> {
  if (!caller.presented) return
  const table = sql.table(caller.kind === 'application' ? 'sso_client_configs' : 'users')
  await sql`select from ${table} where uid = ${caller.uid} for no key update`.execute(trx)
  if (!isCallerUnchanged(caller, await findPrincipal(trx, caller.presented.credential)))
    throw problems.unauthenticated('Your session has ended, or your permissions have changed. Sign in again.')
}
