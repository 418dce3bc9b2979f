import type { Label } from '@sluice/contracts'
import { accessOf, inLanguageOf, type SharedColumns } from '@sluice/records'
import { recordedFields } from '../recorded.ts'

/** What the tables of checks and groups have alike, beside what all shared objects have. */
export type LabelledColumns = SharedColumns & { labels: Label[] }

interface LabelledRow extends LabelledColumns {
  uid: string
  client: string
  name: string
  created_at: Date
  updated_at: Date
  description: string | null
  short_name: string
}

/** The fields that checks and groups answer alike. */
export function labelledFields(row: LabelledRow, locales: readonly string[]) {
  const { tags: _tags, tagString: _tagString, ...recorded } = recordedFields({ ...row, tags: [] }, locales)
  return {
    ...recorded,
    shortName: row.short_name,
    displayShortName: inLanguageOf(row, 'shortName', inLanguageOf(row, 'short_name', row.short_name, locales), locales),
    labels: row.labels,
    displayLabels: row.labels.map(({ key, value }) => ({
      key,
      value: inLanguageOf(row, `labels.${key}`, value, locales),
    })),
    access: accessOf(row),
  }
}

interface LabelledBody {
  name: string
  translations?: object[] | undefined
  shortName: string
  labels?: { key: string; value?: string }[] | undefined
  description?: string | undefined
}

/** The columns that they have alike, those of access excepted. */
export const labelledColumns = (body: LabelledBody) => ({
  name: body.name,
  translations: JSON.stringify(body.translations ?? []),
  short_name: body.shortName,
  labels: JSON.stringify((body.labels ?? []).map(({ key, value = '' }) => ({ key, value }))),
  description: body.description ?? null,
})
