import { type Kysely, type RawBuilder, type Selectable, sql, type SqlBool, type Transaction } from 'kysely'
import { type Client, type ClientBody, clientDomains, hasRole } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import {
  matchesLineOf,
  type Properties,
  type Property,
  createRecordRepository,
  type RefinedRow,
  type SharedColumns,
  translateRowProperty,
} from '@sluice/records'
import type { Clients, DB } from '../../database.ts'
import type { IdentityRequestContext } from '../operation-context.ts'

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

export const clientRecords = createRecordRepository<ClientRow, Client, IdentityRequestContext>({
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
  /** The column `search_text` contains id, code and name. */
  matches: (like) => matchesLineOf('r.search_text', like),
  /** Limits callers to their own organisation; super admins see all organisations. */
  scope: (caller) => (hasRole(caller.roles, 'ROLE_SUPER_ADMIN') ? sql`true` : sql`r.uid = ${caller.client}`),
  present: async (rows, { request }) => rows.map((row) => presentClient(row, request.locales)),
})

/** Converts an organisation to a resource. Absent optional values are omitted. */
export const presentClient = (row: ClientRow, locales: readonly string[]): Client => ({
  id: row.uid,
  created: row.created_at.toISOString(),
  lastUpdated: row.updated_at.toISOString(),
  displayName: translateRowProperty(row, 'name', row.name, locales),
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

/** Converts a request body to columns. Omitted optional fields become empty, because PUT replaces the organisation. */
export const toClientColumns = (body: ClientBody) => ({
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
  time_zone: parseTimeZone(body.timeZone),
})

/**
 * Returns the time zone to store; null, which means UTC, if the body has none. Throws 422 for a zone that the runtime
 * does not know, because every schedule of the organisation would stop.
 */
function parseTimeZone(name: string | undefined): string | null {
  if (name === undefined) return null
  try {
    // Intl also accepts offsets such as +02:00, which have no daylight saving time. The contract's pattern rejects
    // those.
    Intl.DateTimeFormat('en', { timeZone: name })
  } catch {
    throw problems.refused(
      '/timeZone',
      `"${name}" is not a time zone. Use an IANA name, such as Europe/Oslo, Africa/Nairobi or UTC.`,
    )
  }
  return name
}

/** Limits a table with a column `client` to the rows of the caller's organisation; super admins see all rows. */
export const scopeToClient = ({ roles, client }: Caller): RawBuilder<SqlBool> =>
  hasRole(roles, 'ROLE_SUPER_ADMIN') ? sql`true` : sql`r.client = ${client}`

const selectFromClient = (column: 'code' | 'name') =>
  sql`(select clients.${sql.ref(column)} from clients where clients.uid = r.client)`

/** The searchable properties of the organisation of a row with a column `client`. */
export const clientProperties = {
  'client.id': { column: 'r.client', type: 'uid', required: true },
  'client.code': { column: selectFromClient('code'), type: 'string' },
  'client.name': { column: selectFromClient('name'), type: 'string' },
} satisfies Record<string, Property>

/** Returns the organisations of these rows, keyed by uid. The rows have a column `client`. */
export async function readClients(
  db: Kysely<DB>,
  rows: readonly { client: string }[],
): Promise<ReadonlyMap<string, ClientRow>> {
  const uids = [...new Set(rows.map(({ client }) => client))]
  const clientRows = await sql<ClientRow>`select * from clients where uid = any(${uids})`.execute(db)
  return new Map(clientRows.rows.map((row) => [row.uid, row]))
}

/** Returns a `present` function that adds the organisation to the presented fields of each row. */
export const presentWithClient =
  <Row extends { client: string }, Fields>(fieldsOf: (row: Row) => Fields) =>
  async (rows: Row[], { db, request }: IdentityRequestContext): Promise<(Fields & { client: Client })[]> => {
    const clients = await readClients(db, rows)
    return rows.map((row) => ({ ...fieldsOf(row), client: presentClient(clients.get(row.client)!, request.locales) }))
  }

/**
 * Returns the organisation for a new row: the caller's own or, for a super admin, any other. The error does not reveal
 * whether another organisation exists.
 */
export async function resolveClient(trx: Transaction<DB>, caller: Caller, reference = caller.client): Promise<string> {
  const client = reference.toLowerCase()
  if (client === caller.client) return client
  const { rows } = hasRole(caller.roles, 'ROLE_SUPER_ADMIN')
    ? await sql`select from clients where uid = ${client} for key share`.execute(trx)
    : { rows: [] }
  if (rows.length === 0) throw problems.refused('/client/id', 'The organisation does not exist. Check its id.')
  return client
}

/** Rejects a body that moves a row to another organisation. `change` begins the message, such as `An application`. */
export function assertClientUnchanged(
  body: { client?: { id: string } | undefined },
  row: { client: string },
  change: string,
): void {
  if (body.client && body.client.id.toLowerCase() !== row.client)
    throw problems.refused('/client/id', `${change} cannot move to another organisation. Create a new one there.`)
}
