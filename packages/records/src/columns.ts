import type { ColumnType, Generated, JSONColumnType } from 'kysely'
import type { AccessObject } from '@sluice/contracts'

interface TranslationEntry {
  locale: string
  property: string
  value: string
}

/** The columns that every record has. Nothing in this package looks at any other. */
export interface RecordColumns {
  /** The key inside the database; `uid` is the one that leaves it. */
  id: ColumnType<number, never, never>
  uid: Generated<string>
  name: string
  translations: JSONColumnType<TranslationEntry[]>
  /** Counts the changes, for ETag and If-Match. */
  version: Generated<number>
  created_at: Generated<Date>
  updated_at: Generated<Date>
  created_by: string | null
  updated_by: string | null
}

/** And those of a record that people share inside their client. */
export interface SharedColumns extends RecordColumns {
  client: string
  public_access: Generated<'NONE' | 'READ' | 'READ_WRITE'>
  user_access: JSONColumnType<AccessObject[]>
  user_group_access: JSONColumnType<AccessObject[]>
}
