import type { CheckLabel } from '@sluice/contracts'
import { accessOf, translatedProperty, type SharedColumns } from '@sluice/records'
import { recordedFields } from '../record-fields.ts'

/** The columns that checks and groups add to those of shared objects. */
export type LabelledColumns = SharedColumns & { labels: CheckLabel[] }

interface LabelledRow extends LabelledColumns {
  uid: string
  client: string
  name: string
  created_at: Date
  updated_at: Date
  description: string | null
  short_name: string
}

/** The common response fields of checks and groups. */
export function labelledFields(row: LabelledRow, locales: readonly string[]) {
  const { tags: _tags, tagString: _tagString, ...recorded } = recordedFields({ ...row, tags: [] }, locales)
  return {
    ...recorded,
    shortName: row.short_name,
    displayShortName: translatedProperty(
      row,
      'shortName',
      translatedProperty(row, 'short_name', row.short_name, locales),
      locales,
    ),
    labels: row.labels,
    displayLabels: row.labels.map(({ key, value }) => ({
      key,
      value: translatedProperty(row, `labels.${key}`, value, locales),
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

/** The common columns of checks and groups, without those of access. */
export const labelledColumns = (body: LabelledBody) => ({
  name: body.name,
  translations: JSON.stringify(body.translations ?? []),
  short_name: body.shortName,
  labels: JSON.stringify((body.labels ?? []).map(({ key, value = '' }) => ({ key, value }))),
  description: body.description ?? null,
})
