import type { ColumnProfile, WarehouseColumn } from './warehouse.ts'

/** Returns a load's measurements of a column in the form that table descriptions use; an empty object if the load measured nothing. */
export function measuredColumn(profile: ColumnProfile | undefined): Partial<WarehouseColumn> {
  if (!profile) return {}
  const { nulls, distinct, min, max } = profile
  return {
    nullValues: nulls,
    ...(distinct !== undefined && { distinctValues: distinct }),
    ...(min !== undefined && { minValue: min }),
    ...(max !== undefined && { maxValue: max }),
  }
}
