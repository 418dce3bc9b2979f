import { type Selectable, sql } from 'kysely'
import { type Client, type ClientBody, clientDomains, holds } from '@sluice/contracts'
import {
  type Properties,
  type Property,
  type RefinedRow,
  type SharedColumns,
  translatedProperty,
  matchesLineOf,
  records,
} from '@sluice/records'
import type { Clients } from '../../database.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { problems } from '@sluice/http-server'

export type ClientRow = RefinedRow<
  Selectable<Clients>,
  Pick<SharedColumns, 'translations'> & {
    primary_contact: Client['primaryContact']
    technical_contact: Client['technicalContact']
    billing_contact: Client['billingContact']
    domain: Client['domain']
  }
>

const contactProperties: Properties = Object.fromEntries(
  (['primary', 'technical', 'billing'] as const).flatMap((kind) =>
    (['name', 'email', 'phoneNumber'] as const).map((field): [string, Property] => [
      `${kind}Contact.${field}`,
      { column: sql`(${sql.ref(`r.${kind}_contact`)} ->> ${sql.lit(field)})`, type: 'string' },
    ]),
  ),
)

export const clientRecords = records<ClientRow, Client, IdentityRequestContext>({
  noun: 'client',
  table: 'clients',
  path: '/clients',
  properties: {
    id: { column: 'r.uid', type: 'uid', required: true },
    name: { column: 'r.name', type: 'string', required: true, within: 'r.search_text' },
    displayName: { column: 'r.name', type: 'string', required: true, within: 'r.search_text' },
    code: { column: 'r.code', type: 'string', required: true, within: 'r.search_text' },
    billingCode: { column: 'r.billing_code', type: 'string', required: true },
    disabled: { column: 'r.disabled', type: 'boolean', required: true },
    domain: { column: 'r.domain', type: 'enum', required: true, values: clientDomains },
    managerEnabled: { column: 'r.manager_enabled', type: 'boolean', required: true },
    routesEnabled: { column: 'r.routes_enabled', type: 'boolean', required: true },
    pipelinesEnabled: { column: 'r.pipelines_enabled', type: 'boolean', required: true },
    enterpriseEnabled: { column: 'r.enterprise_enabled', type: 'boolean', required: true },
    timeZone: { column: sql`coalesce(r.time_zone, 'UTC')`, type: 'string', required: true },
    ...contactProperties,
    created: { column: 'r.created_at', type: 'date-time', required: true },
    lastUpdated: { column: 'r.updated_at', type: 'date-time', required: true },
  },
  /** The search text contains id, code and name. */
  matches: (like) => matchesLineOf('r.search_text', like),
  /** Callers see their own client; super admins see all. */
  scope: (caller) => (holds(caller.roles, 'ROLE_SUPER_ADMIN') ? sql`true` : sql`r.uid = ${caller.client}`),
  present: async (rows, { request }) => rows.map((row) => clientOf(row, request.locales)),
})

export const clientOf = (row: ClientRow, locales: readonly string[]): Client => ({
  id: row.uid,
  created: row.created_at.toISOString(),
  lastUpdated: row.updated_at.toISOString(),
  displayName: translatedProperty(row, 'name', row.name, locales),
  name: row.name,
  translations: row.translations,
  code: row.code,
  billingCode: row.billing_code,
  primaryContact: row.primary_contact,
  technicalContact: row.technical_contact,
  billingContact: row.billing_contact,
  disabled: row.disabled,
  domain: row.domain,
  managerEnabled: row.manager_enabled,
  routesEnabled: row.routes_enabled,
  pipelinesEnabled: row.pipelines_enabled,
  enterpriseEnabled: row.enterprise_enabled,
  ...(row.route_notification_email_addresses !== null && {
    routeNotificationEmailAddresses: row.route_notification_email_addresses,
  }),
  ...(row.time_zone !== null && { timeZone: row.time_zone }),
})

export const clientColumns = (body: ClientBody) => ({
  name: body.name,
  translations: JSON.stringify(body.translations ?? []),
  code: body.code,
  billing_code: body.billingCode,
  primary_contact: JSON.stringify(body.primaryContact),
  technical_contact: JSON.stringify(body.technicalContact),
  billing_contact: JSON.stringify(body.billingContact),
  disabled: body.disabled,
  domain: body.domain,
  manager_enabled: body.managerEnabled,
  routes_enabled: body.routesEnabled,
  pipelines_enabled: body.pipelinesEnabled,
  enterprise_enabled: body.enterpriseEnabled,
  route_notification_email_addresses: body.routeNotificationEmailAddresses ?? null,
  time_zone: timeZoneColumn(body.timeZone),
})

/**
 * Returns the time zone to store; null, which means UTC, if the body has none. Rejects zones that the runtime does not
 * know, because every schedule of the client would stop.
 */
function timeZoneColumn(name: string | undefined): string | null {
  if (name === undefined) return null
  try {
    // Intl also accepts offsets such as +02:00, which have no daylight saving time. The contract's pattern rejects those.
    Intl.DateTimeFormat('en', { timeZone: name })
  } catch {
    throw problems.refused(
      '/timeZone',
      `"${name}" is not a time zone: use a name of the IANA list, such as Europe/Oslo, Africa/Nairobi or UTC.`,
    )
  }
  return name
}
