import { type WarehouseReader, hasRole, pipelineOperations } from '@sluice/contracts'
import { createRecordRepository, translateRowProperty, type SharedColumns, type WithoutMay } from '@sluice/records'
import { sql, type SqlBool } from 'kysely'
import type { StoredReader } from '../../warehouse-readers/warehouse-readers.ts'
import { lookUpAuthors, recordedProperties } from '../record-fields.ts'
import type { RequestContext } from '../operation-context.ts'
import { readReferencedSchemas } from '../schemas/records.ts'

export type WarehouseReaderRow = Omit<StoredReader, 'translations'> & Pick<SharedColumns, 'translations'>

/**
 * The repository of warehouse readers: database logins with which other programs read schemas. A caller who may see
 * schemas sees all readers of the organisation. Networks cannot be searched, because seeing them requires another role.
 */
export const warehouseReaderRecords = createRecordRepository<WarehouseReaderRow, WarehouseReader, RequestContext>({
  noun: 'warehouse reader',
  table: 'warehouse_readers',
  path: '/warehouse-readers',
  properties: {
    ...recordedProperties,
    expires: { type: 'date-time', column: 'r.expires_at' },
    lastUsed: { type: 'date-time', column: 'r.last_used_at' },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.login ilike ${like})`,
  scope: ({ client }) => sql<SqlBool>`r.client = ${client}`,
  signatures: pipelineOperations.warehouseReaders,
  // Everyone who manages schemas may delete a login, which ends the access of the program.
  mayWrite: async ({ caller }, action) =>
    action === 'delete' || hasRole(caller.roles, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'),
  present: presentReaders,
})

/** Presents warehouse readers. For schemas that the caller may not see, only the names. */
async function presentReaders(
  rows: WarehouseReaderRow[],
  context: RequestContext,
): Promise<WithoutMay<WarehouseReader>[]> {
  const { identity, request, caller, db, readers } = context
  const references = rows.flatMap(({ schema_ids }) => schema_ids.map((schema_id) => ({ schema_id })))
  const [findAuthors, schemas, warehouse] = await Promise.all([
    lookUpAuthors(rows, identity),
    readReferencedSchemas(references, context),
    db.selectFrom('warehouses').select('key').where('client', '=', caller.client).executeTakeFirst(),
  ])
  const warehouseKey = warehouse?.key ?? ''
  const maySeeNetworks = hasRole(caller.roles, 'ROLE_SEE_FIREWALL_RULE')
  return rows.map((row) => {
    const schemasOfReader = row.schema_ids.flatMap((id) => schemas.get(id) ?? [])
    const schemaNames = schemasOfReader.map(({ schemaName }) => schemaName)
    return {
      id: row.uid,
      client: row.client,
      name: row.name,
      displayName: translateRowProperty(row, 'name', row.name, request.locales),
      translations: row.translations,
      created: row.created_at.toISOString(),
      lastUpdated: row.updated_at.toISOString(),
      ...findAuthors(row),
      schemas: schemasOfReader,
      ...(row.expires_at && { expires: row.expires_at.toISOString() }),
      ...(maySeeNetworks && { networks: row.networks }),
      readerStatus: getReaderStatus(row),
      ...(row.last_used_at && { lastUsed: row.last_used_at.toISOString() }),
      connection: buildConnection(row, warehouseKey, schemaNames, readers),
    }
  })
}

function getReaderStatus({ pending, expires_at }: WarehouseReaderRow): WarehouseReader['readerStatus'] {
  if (expires_at && expires_at.getTime() <= Date.now()) return 'EXPIRED'
  return pending ? 'PENDING' : 'ACTIVE'
}

/**
 * Returns the server address and the login of a warehouse reader. Returns only the login if the operator has removed
 * the warehouse from the settings.
 */
function buildConnection(
  { provider_schema, login: user }: WarehouseReaderRow,
  key: string,
  schemas: readonly string[],
  readers: RequestContext['readers'],
): WarehouseReader['connection'] {
  const endpoint = readers.findEndpoint(provider_schema)
  if (!endpoint?.address) return { user }
  const { address, sslMode } = endpoint
  return { ...address, database: endpoint.database(key, schemas), user, sslMode }
}
