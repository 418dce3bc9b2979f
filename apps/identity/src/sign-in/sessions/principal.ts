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
import { splitEnabledAndDormantRoles } from '../../effective-roles.ts'
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

/**
 * Finds an application that acts on its own behalf, in its own organisation and with the roles among its scopes. The
 * principal is not `open` (its tokens are refused) if the application may not use the client credentials grant.
 */
async function findApplicationPrincipal(db: Kysely<DB>, { id }: Credential): Promise<PrincipalState | undefined> {
  const { rows } = await sql<ApplicationPrincipalRow>`
    ${prepared('application-principal')}
    select applications.uid, applications.sso_client_id, applications.client_name, applications.scopes,
      applications.grant_types, applications.token_valid_after, clients.uid as client, clients.code as client_code,
      clients.name as organisation, clients.disabled, clients.domain, clients.manager_enabled,
      clients.routes_enabled, clients.pipelines_enabled, clients.time_zone
    from sso_client_configs applications join clients on clients.uid = applications.client
    where applications.sso_client_id = ${id}`.execute(db)
  const row = rows[0]
  if (!row) return undefined
  return {
    kind: 'application',
    id: row.uid,
    username: row.sso_client_id,
    name: row.client_name,
    status: 'ACTIVE',
    tokenValidAfter: row.token_valid_after.toISOString(),
    open: row.grant_types.includes('client_credentials'),
    ...splitEnabledAndDormantRoles(selectRoleScopes(row.scopes), row),
    userGroups: [],
    client: toPrincipalClient(row, row.organisation),
  }
}

interface ApiTokenPrincipalRow extends UserPrincipalRow {
  token_id: number
  token_roles: Role[]
  is_use_due: boolean
}

/**
 * Finds the user of an API token by the token's hash. The token acts for the user's own organisation, with those of its
 * roles that the user still holds. Records the use of the token.
 */
async function findApiTokenPrincipal(
  db: Kysely<DB>,
  { id: tokenHash }: Credential,
): Promise<PrincipalState | undefined> {
  const { rows } = await sql<ApiTokenPrincipalRow>`
    select ${principalColumns}, ${apiTokenIsUsable} as open, api_tokens.id as token_id, api_tokens.roles as token_roles,
      api_tokens.last_used_at is null or api_tokens.last_used_at < now() - interval '1 minute' as is_use_due
    from api_tokens
    join users on users.id = api_tokens.user_id
    join clients home_client on home_client.uid = users.client
    join clients on clients.uid = users.client
    where api_tokens.token_hash = ${decodeTokenHash(tokenHash)}`.execute(db)
  const row = rows[0]
  if (!row) return undefined
  if (row.open && row.is_use_due) await recordTokenUse(db, row.token_id)
  const heldTokenRoles = selectHeldRoles(row.roles, row.token_roles.join(' '))
  return toUserPrincipal('api-token', { ...row, roles: heldTokenRoles })
}

/** Stores the time of a token's use, at most once a minute across all processes, to limit writes. */
async function recordTokenUse(db: Kysely<DB>, id: number): Promise<void> {
  await sql`
    update api_tokens set last_used_at = now()
    where id = ${id} and (last_used_at is null or last_used_at < now() - interval '1 minute')`.execute(db)
}

/**
 * Finds a user by one of their sessions. The user acts for the session's organisation, which a super admin can switch.
 * A user of the console is treated like one who signed in directly, as long as the console's grant exists.
 */
async function findSessionPrincipal(
  db: Kysely<DB>,
  { id: user, session = '', application, grant }: Credential,
): Promise<PrincipalState | undefined> {
  if (!isUid(user) || !isUid(session)) return undefined
  const isConsole = application === consoleApplication
  if (application !== undefined && !isConsole)
    return findApplicationSessionPrincipal(db, { user, session, application, grant })
  const isOpen = isConsole ? sql`${isOpenSession} and ${isOpenGrant(application, grant)}` : isOpenSession
  const { rows } = await sql<UserPrincipalRow>`
    ${prepared(isConsole ? 'console-principal' : 'session-principal')}
    select ${principalColumns}, coalesce(${isOpen}, false) as open
    from users
    join clients home_client on home_client.uid = users.client
    left join sessions on sessions.user_id = users.id and sessions.uid = ${session}
    join clients on clients.uid = coalesce(sessions.client, users.client)
    where users.uid = ${user}`.execute(db)
  return rows[0] && toUserPrincipal('session', rows[0])
}

/**
 * SQL condition: the row of `sessions` has the grant for the application (see `AccessTokenClaims`). If the grant is
 * deleted, the application's tokens become invalid.
 */
const isOpenGrant = (application: string, grant = '') => sql`exists (
  select from oidc_models join sso_client_configs on sso_client_configs.id = oidc_models.sso_client_config_id
  where oidc_models.model = 'Grant' and oidc_models.id_hash = ${Buffer.from(grant, 'base64url')}
    and oidc_models.session_id = sessions.id and sso_client_configs.sso_client_id = ${application})`

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
  // Built-in applications, such as the command line, belong to no organisation.
  const isBuiltIn = sql`applications.client is null`
  const { rows } = await sql<ApplicationSessionRow>`
    ${prepared('application-session-principal')}
    select ${principalColumns},
      coalesce(${isOpenSession} and ${isOpenGrant(application, grant)} and consents.user_id is not null
        and (${isBuiltIn} or 'authorization_code' = any(applications.grant_types)), false) as open,
      array(
        select scope from unnest(consents.scopes) as scope where ${isBuiltIn} or scope = any(applications.scopes)
      ) as scopes
    from users
    join clients home_client on home_client.uid = users.client
    left join sessions on sessions.user_id = users.id and sessions.uid = ${session}
    join clients on clients.uid = users.client
    left join sso_client_configs applications
      on applications.sso_client_id = ${application} and (applications.client = users.client or ${isBuiltIn})
    left join application_consents consents
      on consents.user_id = users.id and consents.sso_client_config_id = applications.id
    where users.uid = ${user}`.execute(db)
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
 * The columns of a principal: a row of `users` from the organisation `home_client`, who acts for a row of `clients`.
 * Each query adds a column `open`: whether the credential is valid.
 */
export const principalColumns = sql`
  users.uid as id, users.username, users.name, users.status, users.token_valid_after, users.roles,
  array(
    select user_groups.uid from user_group_members members join user_groups on user_groups.id = members.user_group_id
    where members.user_id = users.id order by user_groups.id limit 1000
  )::text[] as user_groups,
  clients.uid as client, clients.code as client_code, clients.name as client_name,
  clients.disabled or home_client.disabled as disabled, clients.domain,
  clients.manager_enabled, clients.routes_enabled, clients.pipelines_enabled, clients.time_zone`

/** Converts the row of a user to the principal. The organisation's feature switches limit the roles. */
export const toUserPrincipal = (kind: PrincipalState['kind'], row: UserPrincipalRow): PrincipalState => ({
  kind,
  id: row.id,
  username: row.username,
  name: row.name,
  status: row.status,
  tokenValidAfter: row.token_valid_after.toISOString(),
  open: row.open,
  ...splitEnabledAndDormantRoles(row.roles, row),
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
