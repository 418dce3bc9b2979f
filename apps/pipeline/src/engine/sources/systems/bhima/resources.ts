import type { DataType } from '@sluice/contracts'
import type { SettingsOf } from '../system.ts'
import type { KnownColumn } from '../tables/table-spool.ts'

type Kind = SettingsOf<'SOURCE_SYSTEM_A'>['resources'][number]

export interface Resource {
  path: string
  /** What tells a row from all others; empty where the list has nothing that does. */
  key: readonly string[]
  columns: readonly KnownColumn[]
  query?: Readonly<Record<string, string | number>>
  /** The parameters of the first and the last day; absent where there are no days. */
  days?: readonly [string, string]
  byProject?: boolean
}

const period = ['custom_period_start', 'custom_period_end'] as const
const dates = ['dateFrom', 'dateTo'] as const

const columns = (dataType: DataType, ...paths: string[]): KnownColumn[] => paths.map((path) => ({ path, dataType }))
const uuid = columns('TEXT', 'uuid')

/** Ids, codes and numbers that people gave are texts, whatever they look like. */
export const resources: Readonly<Record<Kind, Resource>> = {
  PATIENTS: {
    path: 'patients',
    key: ['uuid'],
    columns: [
      ...columns('TEXT', 'uuid', 'reference', 'display_name', 'hospital_no', 'sex', 'debtor_uuid'),
      ...columns('TIMESTAMPTZ', 'registration_date'),
    ],
    query: { detailed: 1 },
    days: period,
    byProject: true,
  },
  VISITS: {
    path: 'patients/visits',
    key: ['uuid'],
    columns: [...columns('TEXT', 'uuid', 'patient_uuid'), ...columns('TIMESTAMPTZ', 'start_date', 'end_date')],
    days: period,
  },
  INVOICES: {
    path: 'invoices',
    key: ['uuid'],
    columns: [
      ...columns('TEXT', 'uuid', 'reference', 'debtor_uuid', 'service_uuid'),
      ...columns('TIMESTAMPTZ', 'date'),
    ],
    days: period,
    byProject: true,
  },
  CASH: {
    path: 'cash',
    key: ['uuid'],
    columns: [...columns('TEXT', 'uuid', 'reference', 'debtor_uuid'), ...columns('TIMESTAMPTZ', 'date')],
    days: period,
  },
  STOCK_MOVEMENTS: {
    path: 'stock/movements',
    // An adjustment up and down, and both sides of a transfer, are two rows of one document.
    key: ['document_uuid', 'is_exit'],
    columns: [...columns('TEXT', 'document_uuid', 'depot_uuid'), ...columns('TIMESTAMPTZ', 'date')],
    days: dates,
  },
  // Its uuid is that of the lot, which moves often.
  STOCK_LOT_MOVEMENTS: {
    path: 'stock/lots/movements',
    key: [],
    columns: [
      ...columns('TEXT', 'uuid', 'label', 'code', 'document_uuid', 'depot_uuid', 'inventory_uuid'),
      ...columns('TIMESTAMPTZ', 'date'),
    ],
    days: dates,
  },
  // A lot is in as many depots as it came into. The list without depots has purchased lots alone.
  STOCK_LOTS: {
    path: 'stock/lots/depots',
    key: ['uuid', 'depot_uuid'],
    query: { fullList: 1, skipTags: 1 },
    columns: columns('TEXT', 'uuid', 'label', 'code', 'depot_uuid', 'inventory_uuid'),
  },
  DEPOTS: { path: 'depots', key: ['uuid'], columns: columns('TEXT', 'uuid', 'text') },
  INVENTORY: { path: 'inventory/metadata', key: ['uuid'], columns: columns('TEXT', 'uuid', 'code', 'label') },
  SERVICES: { path: 'services', key: [], columns: columns('TEXT', 'name') },
  EMPLOYEES: { path: 'employees', key: ['uuid'], columns: columns('TEXT', 'uuid', 'code', 'display_name') },
  FISCAL_YEARS: { path: 'fiscal', key: ['id'], columns: columns('TEXT', 'label') },
  DEBTOR_GROUPS: { path: 'debtor_groups', key: ['uuid'], columns: [...uuid, ...columns('TEXT', 'name')] },
  GENERAL_LEDGER: { path: 'general_ledger', key: [], columns: columns('TEXT', 'label') },
}
