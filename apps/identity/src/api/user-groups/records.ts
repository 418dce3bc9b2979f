import type { Kysely, Selectable } from 'kysely'
import type { UserGroup } from '@sluice/contracts'
import {
  matchesLineOf,
  createRecordRepository,
  type RefinedRow,
  type SharedColumns,
  translateRowProperty,
} from '@sluice/records'
import type { DB, UserGroups } from '../../database.ts'
import { presentClient, clientProperties, type ClientRow, readClients, scopeToClient } from '../clients/records.ts'
import type { IdentityRequestContext } from '../operation-context.ts'

export type UserGroupRow = RefinedRow<Selectable<UserGroups>, Pick<SharedColumns, 'translations'>>

export const userGroupRecords = createRecordRepository<UserGroupRow, UserGroup, IdentityRequestContext>({
  noun: 'user group',
  table: 'user_groups',
  path: '/user-groups',
  properties: {
    id: { column: 'r.uid', type: 'uid', required: true },
    name: { column: 'r.name', type: 'string', required: true, within: 'r.search_text' },
    displayName: { column: 'r.name', type: 'string', required: true, within: 'r.search_text' },
    code: { column: 'r.code', type: 'string', required: true, within: 'r.search_text' },
    description: { column: 'r.description', type: 'string' },
    created: { column: 'r.created_at', type: 'date-time', required: true },
    lastUpdated: { column: 'r.updated_at', type: 'date-time', required: true },
    ...clientProperties,
  },
  /** The column `search_text` contains id, code and name. */
  matches: (like) => matchesLineOf('r.search_text', like),
  scope: scopeToClient,
  present: presentUserGroups,
})

async function presentUserGroups(
  rows: UserGroupRow[],
  { db, request }: { db: Kysely<DB>; request: { locales: readonly string[] } },
): Promise<UserGroup[]> {
  if (rows.length === 0) return []
  const clients = await readClients(db, rows)
  return rows.map((row) => presentGroup(row, clients.get(row.client)!, request.locales))
}

export const presentGroup = (row: UserGroupRow, client: ClientRow, locales: readonly string[]): UserGroup => ({
  id: row.uid,
  created: row.created_at.toISOString(),
  lastUpdated: row.updated_at.toISOString(),
  displayName: translateRowProperty(row, 'name', row.name, locales),
  name: row.name,
  translations: row.translations,
  code: row.code,
  ...(row.description !== null && {
    description: row.description,
    displayDescription: translateRowProperty(row, 'description', row.description, locales),
  }),
  client: presentClient(client, locales),
})
