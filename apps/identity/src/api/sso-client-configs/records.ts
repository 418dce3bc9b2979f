import { type Selectable, sql, type SqlBool } from 'kysely'
import type { GrantType, SsoClientConfig } from '@sluice/contracts'
import { createRecordRepository, type RefinedRow } from '@sluice/records'
import type { SsoClientConfigs } from '../../database.ts'
import { clientProperties, scopeToClient, presentWithClient } from '../clients/records.ts'
import type { IdentityRequestContext } from '../operation-context.ts'

export type SsoClientConfigRow = RefinedRow<
  Selectable<SsoClientConfigs>,
  { client: string; scopes: SsoClientConfig['scopes']; grant_types: GrantType[] }
>

export const ssoClientConfigRecords = createRecordRepository<
  SsoClientConfigRow,
  SsoClientConfig,
  IdentityRequestContext
>({
  noun: 'SSO client config',
  table: 'sso_client_configs',
  path: '/sso-client-configs',
  properties: {
    id: { column: 'r.uid', type: 'uid', required: true },
    name: { column: 'r.client_name', type: 'string', required: true },
    clientName: { column: 'r.client_name', type: 'string', required: true },
    ssoClientId: { column: 'r.sso_client_id', type: 'string', required: true },
    scopes: { column: 'r.scopes', type: 'strings' },
    redirectUris: { column: 'r.redirect_uris', type: 'strings' },
    created: { column: 'r.created_at', type: 'date-time', required: true },
    lastUpdated: { column: 'r.updated_at', type: 'date-time', required: true },
    ...clientProperties,
  },
  matches: (like) => sql`(r.uid::text ilike ${like} or r.sso_client_id ilike ${like} or r.client_name ilike ${like})`,
  // Built-in applications have no organisation. No operation shows or changes them.
  scope: (caller) => sql<SqlBool>`(r.client is not null and ${scopeToClient(caller)})`,
  present: presentWithClient(presentFields),
})

/** Returns the response fields of an application, without its organisation and authors. Never contains the secret. */
function presentFields(row: SsoClientConfigRow) {
  return {
    id: row.uid,
    created: row.created_at.toISOString(),
    lastUpdated: row.updated_at.toISOString(),
    ssoClientId: row.sso_client_id,
    clientName: row.client_name,
    redirectUris: row.redirect_uris,
    scopes: row.scopes,
    grantTypes: row.grant_types.map((value) => ({ value })),
    confidential: row.secret_hash !== null,
  }
}

/** Returns the properties of an application for the audit log, including its organisation. */
export const toApplicationAudit = (row: SsoClientConfigRow) => ({ ...presentFields(row), client: row.client })
