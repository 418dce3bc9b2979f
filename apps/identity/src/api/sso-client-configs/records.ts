import { sql, type Selectable } from 'kysely'
import { holds, type GrantType, type SsoClientConfig } from '@sluice/contracts'
import { records, type Refined } from '@sluice/records'
import type { SsoClientConfigs } from '../../database.ts'
import { clientOf, type ClientRow } from '../clients/records.ts'
import type { Asked } from '../operation.ts'

export type SsoClientConfigRow = Refined<
  Selectable<SsoClientConfigs>,
  { scopes: SsoClientConfig['scopes']; grant_types: GrantType[] }
>

const ofClient = (column: 'code' | 'name') => sql`(select c.${sql.ref(column)} from clients c where c.uid = r.client)`

export const ssoClientConfigRecords = records<SsoClientConfigRow, SsoClientConfig, Asked>({
  noun: 'SSO client config',
  table: 'sso_client_configs',
  path: '/sso-client-configs',
  properties: {
    id: { column: 'r.uid', type: 'uid' },
    name: { column: 'r.client_name', type: 'string' },
    clientName: { column: 'r.client_name', type: 'string' },
    ssoClientId: { column: 'r.sso_client_id', type: 'string' },
    scopes: { column: 'r.scopes', type: 'strings' },
    redirectUris: { column: 'r.redirect_uris', type: 'strings' },
    created: { column: 'r.created_at', type: 'date-time' },
    lastUpdated: { column: 'r.updated_at', type: 'date-time' },
    'client.id': { column: 'r.client', type: 'uid' },
    'client.code': { column: ofClient('code'), type: 'string' },
    'client.name': { column: ofClient('name'), type: 'string' },
  },
  matches: (like) => sql`(r.uid::text ilike ${like} or r.sso_client_id ilike ${like} or r.client_name ilike ${like})`,
  /** The applications of one's own client; a super admin crosses clients. */
  scope: (caller) => (holds(caller.roles, 'ROLE_SUPER_ADMIN') ? sql`true` : sql`r.client = ${caller.client}`),
  async present(rows, { db, request }) {
    const uids = [...new Set(rows.map(({ client }) => client))]
    const { rows: clients } = await sql<ClientRow>`select * from clients where uid = any(${uids})`.execute(db)
    const byUid = new Map(clients.map((client) => [client.uid, client]))
    return rows.map((row) => ({ ...ownFields(row), client: clientOf(byUid.get(row.client)!, request.locales) }))
  },
})

/** A row as it goes out, its client aside. */
export const ownFields = (row: SsoClientConfigRow) => ({
  id: row.uid,
  created: row.created_at.toISOString(),
  lastUpdated: row.updated_at.toISOString(),
  ssoClientId: row.sso_client_id,
  clientName: row.client_name,
  redirectUris: row.redirect_uris,
  scopes: row.scopes,
  grantTypes: row.grant_types.map((value) => ({ value })),
  confidential: row.secret_hash !== null,
})

/** The same for the audit, with whose it is. */
export const auditedOf = (row: SsoClientConfigRow) => ({ ...ownFields(row), client: row.client })
