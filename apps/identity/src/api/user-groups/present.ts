import type { Kysely } from 'kysely'
import type { UserGroup } from '@sluice/contracts'
import { translatedProperty } from '@sluice/records'
import type { DB } from '../../database.ts'
import { clientRowsOf } from '../clients/client-scope.ts'
import { clientOf, type ClientRow } from '../clients/records.ts'
import type { UserGroupRow } from './row.ts'

/** Presents user groups, each with its client. */
export async function presentUserGroups(
  rows: UserGroupRow[],
  { db, request }: { db: Kysely<DB>; request: { locales: readonly string[] } },
): Promise<UserGroup[]> {
  if (rows.length === 0) return []
  const clients = await clientRowsOf(db, rows)
  return rows.map((row) => userGroupOf(row, clients.get(row.client)!, request.locales))
}

export const userGroupOf = (row: UserGroupRow, client: ClientRow, locales: readonly string[]): UserGroup => ({
  id: row.uid,
  created: row.created_at.toISOString(),
  lastUpdated: row.updated_at.toISOString(),
  displayName: translatedProperty(row, 'name', row.name, locales),
  name: row.name,
  translations: row.translations,
  code: row.code,
  ...(row.description !== null && {
    description: row.description,
    displayDescription: translatedProperty(row, 'description', row.description, locales),
  }),
  client: clientOf(client, locales),
})
