import { sql, type Kysely } from 'kysely'
import type { PublicDataset } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { records, type RecordKind } from '@sluice/records'
import type { DB } from '../../database.ts'
import type { Asked } from '../operation.ts'
import { recordedProperties, tagsColumn } from '../recorded.ts'
import { presentPublicDatasets } from './present.ts'
import type { PublicDatasetRow } from './row.ts'

/** Everybody here reads all of them; who made one, and their organisation, changes it. */
const kind: RecordKind<PublicDatasetRow, PublicDataset, Asked> = {
  noun: 'public dataset',
  table: 'public_datasets',
  path: '/public-datasets',
  properties: {
    ...recordedProperties,
    key: { type: 'string', column: 'r.key' },
    description: { type: 'string', column: 'r.description' },
    owner: { type: 'string', column: 'r.owner' },
    tags: { type: 'strings', column: tagsColumn },
  },
  matches: (like) => sql`(r.key ilike ${like} or r.name ilike ${like} or r.description ilike ${like})`,
  scope: (caller, level) => (level === 'READ' ? sql`true` : sql`r.client = ${caller.client}`),
  present: presentPublicDatasets,
}

export const publicDatasets = records(kind)

/** The id of the one with this key; 404 where there is none. */
export async function uidOfKey(db: Kysely<DB>, key: string): Promise<string> {
  // No text of PostgreSQL has a NUL in it, nor may it be asked for.
  if (key.includes('\0')) throw problems.notFound('public dataset')
  const row = await db.selectFrom('public_datasets').select('uid').where('key', '=', key).executeTakeFirst()
  if (!row) throw problems.notFound('public dataset')
  return row.uid
}
