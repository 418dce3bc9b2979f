import { sql, type Kysely } from 'kysely'
import { roleScopes, type Client, type Credential, type GrantType, type Standing } from '@sluice/contracts'
import { prepared } from '@sluice/database'
import { effectiveRoles } from '../../access.ts'
import type { DB } from '../../database.ts'

interface Row {
  uid: string
  sso_client_id: string
  client_name: string
  scopes: string[]
  grant_types: GrantType[]
  token_valid_after: Date
  client: string
  client_code: string
  organisation: string
  disabled: boolean
  domain: Client['domain']
  manager_enabled: boolean
  routes_enabled: boolean
  pipelines_enabled: boolean
  time_zone: string | null
}

/** An application that acts for itself: with the roles among its scopes, in its own client. */
export async function applicationStanding(db: Kysely<DB>, { id }: Credential): Promise<Standing | undefined> {
  const { rows } = await sql<Row>`
    ${prepared('application-standing')} select a.uid, a.sso_client_id, a.client_name, a.scopes, a.grant_types, a.token_valid_after,
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
      ...effectiveRoles(roleScopes(row.scopes), row),
      userGroups: [],
      client: {
        id: row.client,
        code: row.client_code,
        name: row.organisation,
        disabled: row.disabled,
        domain: row.domain,
        pipelinesEnabled: row.pipelines_enabled,
        timeZone: row.time_zone ?? 'UTC',
      },
    }
  )
}
