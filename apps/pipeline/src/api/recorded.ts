import { sql } from 'kysely'
import { inLanguageOf, type Properties } from '@sluice/records'

/** The tags of a row as text[], for searching. */
export const tagsColumn = sql<string[]>`array(select jsonb_array_elements_text(r.tags))`

/** What every named object of this service is searched and ordered by. */
export const recordedProperties = {
  id: { type: 'uid', column: 'r.uid' },
  name: { type: 'string', column: 'r.name' },
  created: { type: 'date-time', column: 'r.created_at' },
  lastUpdated: { type: 'date-time', column: 'r.updated_at' },
} satisfies Properties

interface Row {
  uid: string
  client: string
  name: string
  translations: { locale: string; property: string; value: string }[]
  created_at: Date
  updated_at: Date
  description: string | null
  tags: string[]
}

/** The fields that every named object of this service answers. */
export const recordedFields = (row: Row, locales: readonly string[]) => ({
  id: row.uid,
  client: row.client,
  name: row.name,
  translations: row.translations,
  created: row.created_at.toISOString(),
  lastUpdated: row.updated_at.toISOString(),
  displayName: inLanguageOf(row, 'name', row.name, locales),
  description: row.description ?? undefined,
  displayDescription: inLanguageOf(row, 'description', row.description, locales),
  tags: row.tags,
  tagString: row.tags.join(', '),
})
