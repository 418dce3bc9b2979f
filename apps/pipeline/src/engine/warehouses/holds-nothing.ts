import { WarehouseProblem } from './warehouse.ts'

/** Codes of a warehouse, or a ledger, that is not there, or knows us no more. */
const gone = new Set([
  'WAREHOUSE_MISSING',
  'WAREHOUSE_ACCESS_DENIED',
  'WAREHOUSE_OUTDATED',
  'WAREHOUSE_NOT_SET_UP',
  'WAREHOUSE_NOT_OURS',
  'SCHEMA_MISSING',
  'TABLE_MISSING',
])

/** Whether a warehouse that answers so holds nothing that a run of ours published. */
export const holdsNothing = (error: unknown): boolean => error instanceof WarehouseProblem && gone.has(error.code)
