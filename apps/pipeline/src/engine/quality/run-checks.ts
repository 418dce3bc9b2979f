import { storable } from '../runs/run-log.ts'
import {
  type Rows,
  type UserQuery,
  type Warehouse,
  type WarehouseColumn,
  WarehouseProblem,
} from '../warehouses/warehouse.ts'
import { bindVariables } from '../variables/bind.ts'
import { VariableProblem } from '../variables/variable-problem.ts'
import type { Variables } from '../variables/variables.ts'
import { hider } from './redact-variables.ts'
import { withoutEnd } from '../../sql-text.ts'
import { setTimeout as sleep } from 'node:timers/promises'

export interface CheckToRun {
  uid: string
  name: string
  query: string
}

/** OK: no rows. FAILED: rows, which are the violations. ERROR: the query could not be run. */
export type CheckStatus = 'OK' | 'FAILED' | 'ERROR'

/** The first rows that a check found, as they are kept with the results of a run. */
export interface Found {
  columns: WarehouseColumn[]
  rows: Rows['rows']
  /** All violations; absent where counting them took too long. */
  violations?: number
  startedAt: string
  milliseconds: number
}

export interface CheckOutcome {
  check: CheckToRun
  status: CheckStatus
  /** A sentence for whoever may read the check, without values of secured variables. */
  message: string
  /** The same for whoever sees the run, in logs and alerts too: without what the server said, which may repeat cells. */
  toAll: string
  found?: Found
  completedAt: Date
}

export interface Surroundings {
  /** Absent while nothing was ever loaded. */
  warehouse: Pick<Warehouse, 'query'> | undefined
  variables: Variables
  /** Where names without a schema are looked for, in this order. */
  schemas: readonly string[]
  /** Of each check: rows and bytes that are kept, seconds at the server. */
  limits: { rows: number; bytes: number; seconds: number }
  /** Seconds for all of them; those that have no time left are not run, which is an ERROR. */
  seconds?: number
  /** Seconds to wait while the client's other queries take all turns; nobody waits where it is absent. */
  patience?: number
  /** Asked about each query before it is run: a sentence, for whoever sees the run, refuses it, which is an ERROR. */
  refusal?(query: UserQuery, signal: AbortSignal): Promise<string | undefined>
  signal: AbortSignal
}

/**
 * Runs checks one after the other, each on a connection of its own. What is wrong with a check is its outcome; what time
 * mends (the warehouse is away, a table is busy) is thrown, as is the signal's reason.
 */
export async function* runChecks(
  checks: readonly CheckToRun[],
  surroundings: Surroundings,
): AsyncGenerator<CheckOutcome> {
  const { limits, seconds = Infinity } = surroundings
  const end = performance.now() + seconds * 1_000
  for (const check of checks) {
    surroundings.signal.throwIfAborted()
    const left = Math.floor((end - performance.now()) / 1_000)
    if (left < 1)
      yield unfit(check, `It was not run: the checks before it used up the ${seconds} seconds that there are.`)
    else
      yield await runCheck(check, { ...surroundings, limits: { ...limits, seconds: Math.min(limits.seconds, left) } })
  }
}

/** One check; see `runChecks`. */
export async function runCheck(check: CheckToRun, surroundings: Surroundings): Promise<CheckOutcome> {
  const { warehouse, variables, schemas, limits, patience = 0, refusal, signal } = surroundings
  if (!warehouse) return unfit(check, 'There is nothing to look at yet: no table was loaded.')
  const startedAt = new Date()
  // What a check does not use, it cannot show.
  let hide = hider([])
  try {
    const bound = bindVariables(check.query, variables)
    hide = hider([...bound.names].filter((name) => variables.isSecured(name)).map((name) => variables.get(name)!))
    const { text, values, texts } = bound
    const query: UserQuery = { text, values, texts, schemas, limits }
    const refused = await refusal?.(query, signal)
    if (refused) return unfit(check, hide.text(refused))
    const { columns, rows, whole, none } = await firstRows(warehouse, query, patience, signal)
    const milliseconds = Date.now() - startedAt.getTime()
    const violations = whole ? rows.length : await countRows(warehouse, query, signal)
    const found = {
      columns: columns.map((column) => ({ ...column, name: hide.text(column.name), label: hide.text(column.label) })),
      rows: rows.map((row) => row.map(hide.cell)),
      ...(violations !== undefined && { violations }),
      startedAt: startedAt.toISOString(),
      milliseconds,
    }
    const message = none ? 'No row violates the check.' : violationsOf(found)
    return { check, status: none ? 'OK' : 'FAILED', message, toAll: message, found, completedAt: new Date() }
  } catch (error) {
    signal.throwIfAborted()
    const known = error instanceof VariableProblem || (error instanceof WarehouseProblem && !error.retryable)
    if (!known) throw error
    const message = hide.text(error.message)
    return unfit(check, message, error instanceof VariableProblem || ownWords.has(error.code) ? message : couldNotBeRun)
  }
}

/** Said of a check that failed to run to those who may not read it. */
export const couldNotBeRun = 'The check could not be run. Users with read access to the check can see the reason.'

/** Problems whose sentences are ours from end to end. */
const ownWords = new Set(['QUERY_TIMEOUT', 'RESULT_TOO_LARGE'])

/** A check that could not be run. */
export function unfit(check: CheckToRun, message: string, toAll = message): CheckOutcome {
  return {
    check,
    status: 'ERROR',
    message: storable(message, 2_000),
    toAll: storable(toAll, 2_000),
    completedAt: new Date(),
  }
}

function violationsOf({ rows, violations }: Pick<Found, 'rows' | 'violations'>): string {
  if (violations === undefined && rows.length === 0)
    return 'Rows violate the check; the first is too large to be shown.'
  if (violations === undefined) return `More than ${rows.length.toLocaleString('en')} rows violate the check.`
  return violations === 1 ? '1 row violates the check.' : `${violations.toLocaleString('en')} rows violate the check.`
}

/** Seconds that a count may take: it is good to know, no more. */
const patience = 5

/** How many rows a query has that ran just now; undefined where that takes long or cannot be asked. */
async function countRows(
  warehouse: Pick<Warehouse, 'query'>,
  query: UserQuery,
  signal: AbortSignal,
): Promise<number | undefined> {
  // A comment in the last line must not swallow the bracket.
  const text = `select count(*) from (\n${withoutEnd(query.text)}\n) as violations`
  const counted = await warehouse
    .query({ ...query, text, limits: { rows: 1, seconds: patience } }, signal)
    .catch(() => undefined)
  signal.throwIfAborted()
  const count = Number(counted?.rows[0]?.[0])
  return Number.isSafeInteger(count) ? count : undefined
}

interface First extends Pick<Rows, 'columns' | 'rows'> {
  /** There are no others. */
  whole: boolean
  /** There are none at all. Where not even one can be shown, there are some. */
  none: boolean
}

/**
 * The first rows of a query. While the client's other queries take all turns it waits, so many seconds: whoever has loaded
 * rows for an hour does not begin anew for that.
 */
async function firstRows(
  warehouse: Pick<Warehouse, 'query'>,
  query: UserQuery,
  patience: number,
  signal: AbortSignal,
): Promise<First> {
  const end = performance.now() + patience * 1_000
  for (;;) {
    try {
      const { columns, rows, more, truncated } = await warehouse.query(query, signal)
      return { columns, rows, whole: !more && !truncated, none: rows.length === 0 }
    } catch (error) {
      if (!(error instanceof WarehouseProblem)) throw error
      if (error.code === 'ROW_TOO_LARGE') return { columns: [], rows: [], whole: false, none: false }
      if (error.code !== 'WAREHOUSE_BUSY' || performance.now() > end) throw error
      await sleep(1_000, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}
