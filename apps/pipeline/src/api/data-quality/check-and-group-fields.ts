import type { CheckLabel } from '@sluice/contracts'
import { presentAccess, translateRowProperty, type SharedColumns } from '@sluice/records'
import { presentUntaggedFields } from '../record-fields.ts'

/** The columns of shared objects, and the labels of checks and groups. */
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

/** Returns the response fields that checks and check groups share. */
export function presentSharedFields(row: LabelledRow, locales: readonly string[]) {
  // Older translations use the column name `short_name` as the property.
  const shortNameInOlderForm = translateRowProperty(row, 'short_name', row.short_name, locales)
  return {
    ...presentUntaggedFields(row, locales),
    shortName: row.short_name,
    displayShortName: translateRowProperty(row, 'shortName', shortNameInOlderForm, locales),
    labels: row.labels,
    displayLabels: row.labels.map(({ key, value }) => ({
      key,
      value: translateRowProperty(row, `labels.${key}`, value, locales),
    })),
    access: presentAccess(row),
  }
}

interface LabelledBody {
  name: string
  translations?: object[] | undefined
  shortName: string
  labels?: { key: string; value?: string }[] | undefined
  description?: string | undefined
}

/** Returns the columns that checks and check groups share, except the access columns. */
export const toSharedColumns = (body: LabelledBody) => ({
  name: body.name,
  translations: JSON.stringify(body.translations ?? []),
  short_name: body.shortName,
  labels: JSON.stringify((body.labels ?? []).map(({ key, value = '' }) => ({ key, value }))),
  description: body.description ?? null,
})
