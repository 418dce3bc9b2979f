import { sql, type Selectable } from 'kysely'
import { holds, ssoProviders, type SsoProvider, type SsoProviderConfig } from '@sluice/contracts'
import { records, type Refined } from '@sluice/records'
import type { SsoProviderConfigs } from '../../database.ts'
import { clientOf, type ClientRow } from '../clients/records.ts'
import type { Asked } from '../operation.ts'

export type SsoProviderConfigRow = Refined<Selectable<SsoProviderConfigs>, { provider: SsoProvider }>

const ofClient = (column: 'code' | 'name') => sql`(select c.${sql.ref(column)} from clients c where c.uid = r.client)`

export const ssoProviderConfigRecords = records<SsoProviderConfigRow, SsoProviderConfig, Asked>({
  noun: 'SSO provider config',
  table: 'sso_provider_configs',
  path: '/sso-provider-configs',
  properties: {
    id: { column: 'r.uid', type: 'uid' },
    // It has no name of its own; a client has one at most.
    name: { column: ofClient('name'), type: 'string' },
    provider: { column: 'r.provider', type: 'enum', values: ssoProviders },
    clientDomain: { column: 'r.client_domain', type: 'string' },
    mappingClaim: { column: 'r.mapping_claim', type: 'string' },
    created: { column: 'r.created_at', type: 'date-time' },
    lastUpdated: { column: 'r.updated_at', type: 'date-time' },
    'client.id': { column: 'r.client', type: 'uid' },
    'client.code': { column: ofClient('code'), type: 'string' },
    'client.name': { column: ofClient('name'), type: 'string' },
  },
  matches: (like) => sql`(r.uid::text ilike ${like} or r.client_domain ilike ${like})`,
  /** The one of one's own client; a super admin crosses clients. */
  scope: (caller) => (holds(caller.roles, 'ROLE_SUPER_ADMIN') ? sql`true` : sql`r.client = ${caller.client}`),
  async present(rows, { db, request }) {
    const uids = rows.map(({ client }) => client)
    const { rows: clients } = await sql<ClientRow>`select * from clients where uid = any(${uids})`.execute(db)
    const byUid = new Map(clients.map((client) => [client.uid, client]))
    return rows.map((row) => ({ ...ownFields(row), client: clientOf(byUid.get(row.client)!, request.locales) }))
  },
})

const ownFields = (row: SsoProviderConfigRow) => ({
  id: row.uid,
  created: row.created_at.toISOString(),
  lastUpdated: row.updated_at.toISOString(),
  provider: row.provider,
  clientDomain: row.client_domain,
  mappingClaim: row.mapping_claim,
})

/** For the audit: with what it is registered as, and whether there is a secret. */
export const auditedOf = (row: SsoProviderConfigRow) => ({
  ...ownFields(row),
  client: row.client,
  clientId: row.client_id,
  hasClientSecret: row.client_secret !== null,
})
