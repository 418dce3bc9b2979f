import type { KnownColumn } from '../tables/table-spool.ts'

const text = (path: string, groups?: readonly string[]): KnownColumn => ({
  path,
  dataType: 'TEXT',
  ...(groups && { groups }),
})

const lines = ['requisitionLineItems']

/** Codes are texts, whatever they look like. */
export const columns: KnownColumn[] = [
  ...['id', 'status', 'facility.id', 'facility.code', 'facility.name'].map((path) => text(path)),
  ...['program.id', 'program.code', 'program.name', 'processingPeriod.id', 'processingPeriod.name'].map((path) =>
    text(path),
  ),
  { path: 'createdDate', dataType: 'TIMESTAMPTZ' },
  { path: 'modifiedDate', dataType: 'TIMESTAMPTZ' },
  ...['id', 'orderable.id', 'orderable.productCode', 'orderable.fullProductName'].map((path) => text(path, lines)),
]

/** What a form is made of, and what else could have been ordered: the same in all requisitions, and larger than they are. */
const apart = new Set([
  'template',
  'availableProducts',
  'availableFullSupplyProducts',
  'availableNonFullSupplyProducts',
  'stockAdjustmentReasons',
  'previousRequisitions',
])

/** What a requisition is about comes whole; of that, only what it is called and the like is kept. */
const references = new Set([
  'facility',
  'supplyingFacility',
  'program',
  'processingPeriod',
  'orderable',
  'approvedProduct',
])

/** A requisition without what is none of it. Its changes of status, which come by status, are a list. */
export function shaped(record: unknown): unknown {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return record
  return Object.fromEntries(
    Object.entries(record)
      .filter(([key]) => !apart.has(key))
      .map(([key, value]) => [key, valueOf(key, value)]),
  )
}

function valueOf(key: string, value: unknown): unknown {
  if (key === 'statusChanges') return changes(value)
  if (references.has(key)) return plain(value)
  if (key === 'requisitionLineItems' && Array.isArray(value)) return value.map(shaped)
  return value
}

/** `{SUBMITTED: {…}}`, or lists of those. */
function changes(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.entries(value).flatMap(([status, one]) =>
    (Array.isArray(one) ? (one as unknown[]) : [one]).map((change) => ({ status, ...(change as object | null) })),
  )
}

function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, field]) => typeof field !== 'object'))
}
