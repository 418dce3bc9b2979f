import { type Selectable, sql } from 'kysely'
import { type SsoProvider, type SsoProviderConfig, ssoProviders } from '@sluice/contracts'
import { createRecordRepository, type RefinedRow } from '@sluice/records'
import type { SsoProviderConfigs } from '../../database.ts'
import { clientProperties, scopeToClient, presentWithClient } from '../clients/records.ts'
import type { IdentityRequestContext } from '../operation-context.ts'

export type SsoProviderConfigRow = RefinedRow<Selectable<SsoProviderConfigs>, { provider: SsoProvider }>

export const ssoProviderConfigRecords = createRecordRepository<
  SsoProviderConfigRow,
  SsoProviderConfig,
  IdentityRequestContext
>({
  noun: 'SSO provider config',
  table: 'sso_provider_configs',
  path: '/sso-provider-configs',
  properties: {
    id: { column: 'r.uid', type: 'uid', required: true },
    // A config has no name of its own. An organisation has at most one config, so its name serves as the name.
    name: { ...clientProperties['client.name'], required: true },
    provider: { column: 'r.provider', type: 'enum', required: true, values: ssoProviders },
    clientDomain: { column: 'r.client_domain', type: 'string', required: true },
    mappingClaim: { column: 'r.mapping_claim', type: 'string', required: true },
    created: { column: 'r.created_at', type: 'date-time', required: true },
    lastUpdated: { column: 'r.updated_at', type: 'date-time', required: true },
    ...clientProperties,
  },
  matches: (like) => sql`(r.uid::text ilike ${like} or r.client_domain ilike ${like})`,
  scope: scopeToClient,
  present: presentWithClient(presentFields),
})

/** Returns the response fields of a provider config, without its organisation and credentials. */
function presentFields(row: SsoProviderConfigRow) {
  return {
    id: row.uid,
    created: row.created_at.toISOString(),
    lastUpdated: row.updated_at.toISOString(),
    provider: row.provider,
    clientDomain: row.client_domain,
    mappingClaim: row.mapping_claim,
  }
}

/** Returns the properties of a provider config for the audit log: its client id, and whether it has a secret. */
export const toProviderAudit = (row: SsoProviderConfigRow) => ({
  ...presentFields(row),
  client: row.client,
  clientId: row.client_id,
  hasClientSecret: row.client_secret !== null,
})
