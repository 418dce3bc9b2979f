import type { ColumnProfile, WarehouseColumn } from './warehouse.ts'

/** What a load has measured of a column, as tables tell it; nothing where it has not. */
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
