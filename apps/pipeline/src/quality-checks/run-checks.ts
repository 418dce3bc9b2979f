import { toStorableText } from '../runs/run-log.ts'
import {
  type QueryRows,
  type UserQuery,
  type QueryRunner,
  type WarehouseColumn,
  WarehouseProblem,
  isBusy,
} from '@sluice/warehouses/warehouse'
import { bindVariables } from '../variables/bind-variables.ts'
import { VariableProblem } from '../variables/variable-problem.ts'
import type { Variables } from '../variables/variables.ts'
import { createRedactor } from './redact-variables.ts'
import { trimStatementEnd } from '@sluice/warehouses/sql-text/sql-tokens'
import { setTimeout as sleep } from 'node:timers/promises'

export interface CheckToRun {
  uid: string
  name: string
  query: string
}

/** OK: the query returned no rows. FAILED: it returned rows, which are the violations. ERROR: it could not run. */
export type CheckStatus = 'OK' | 'FAILED' | 'ERROR'

/** The first violating rows that a check found, as they are stored with the run. */
export interface CheckFindings {
  columns: WarehouseColumn[]
  rows: QueryRows['rows']
  /** The number of all violating rows; undefined if counting took too long. */
  violations?: number
  startedAt: string
  milliseconds: number
}

export interface CheckOutcome {
  check: CheckToRun
  status: CheckStatus
  /** A sentence for users who may read the check. It contains no values of secured variables. */
  message: string
  /**
   * A sentence for everyone who sees the run, its log or its alert. It omits the warehouse's message, which may contain
   * values of rows.
   */
  publicMessage: string
  findings?: CheckFindings
  completedAt: Date
}

export interface CheckRunContext {
  /** Undefined if the organisation has no warehouse yet, because nothing was loaded. */
  warehouse: { queries: Pick<QueryRunner, 'query'> } | undefined
  variables: Variables
  /** The schemas in which unqualified names are searched, in this order. */
  schemas: readonly string[]
  /** The limits of each check: stored rows, stored bytes, and seconds for its query. */
  limits: { rows: number; bytes: number; seconds: number }
  /**
   * The timeout of all checks together in seconds. Checks that have no time left do not run and get the status ERROR.
   */
  seconds?: number
  /** Seconds to wait for a free query slot of the organisation. Default: 0, so checks do not wait. */
  slotTimeoutSeconds?: number
  /**
   * Called with each query before it runs. To refuse the query, returns a sentence, which everyone who sees the run can
   * read; otherwise undefined.
   */
  refusal?(query: UserQuery, signal: AbortSignal): Promise<string | undefined>
  signal: AbortSignal
}

/**
 * Runs checks one after another, each on its own connection. An error of a check becomes its outcome. Throws temporary
 * errors, such as an unavailable warehouse or a busy table, and the signal's reason.
 */
export async function* runChecks(
  checks: readonly CheckToRun[],
  context: CheckRunContext,
): AsyncGenerator<CheckOutcome> {
  const { limits, seconds = Infinity } = context
  const deadline = performance.now() + seconds * 1_000
  for (const check of checks) {
    context.signal.throwIfAborted()
    const secondsLeft = Math.floor((deadline - performance.now()) / 1_000)
    if (secondsLeft < 1) {
      const reason = `This check was not run, because earlier checks used all ${seconds} seconds. Split the group.`
      yield checkNotRun(check, reason)
      continue
    }
    const remainingLimits = { ...limits, seconds: Math.min(limits.seconds, secondsLeft) }
    yield await runCheck(check, { ...context, limits: remainingLimits })
  }
}

/**
 * Runs one check. Errors of the check become its outcome. Throws temporary errors, unexpected errors, and the signal's
 * reason.
 */
export async function runCheck(check: CheckToRun, context: CheckRunContext): Promise<CheckOutcome> {
  const { warehouse, variables, schemas, limits, slotTimeoutSeconds = 0, refusal, signal } = context
  if (!warehouse) return checkNotRun(check, 'No table was loaded yet. Run a pipeline first.')
  const startedAt = new Date()
  let redact = createRedactor([])
  try {
    const { text, values, texts, names } = bindVariables(check.query, variables)
    // Other variables cannot appear in the result of the check.
    const securedNames = [...names].filter((name) => variables.isSecured(name))
    redact = createRedactor(securedNames.map((name) => variables.get(name)!))
    const query: UserQuery = { text, values, texts, schemas, limits }
    const refusalSentence = await refusal?.(query, signal)
    if (refusalSentence) return checkNotRun(check, redact.text(refusalSentence))
    const firstRows = await readFirstRows(warehouse, query, slotTimeoutSeconds, signal)
    const milliseconds = Date.now() - startedAt.getTime()
    const violations = firstRows.complete ? firstRows.rows.length : await countRows(warehouse, query, signal)
    const findings: CheckFindings = {
      ...redactRows(firstRows, redact),
      ...(violations !== undefined && { violations }),
      startedAt: startedAt.toISOString(),
      milliseconds,
    }
    const message = firstRows.isEmpty ? 'No row violates the check.' : describeViolations(findings)
    const status = firstRows.isEmpty ? 'OK' : 'FAILED'
    return { check, status, message, publicMessage: message, findings, completedAt: new Date() }
  } catch (error) {
    signal.throwIfAborted()
    const isKnownProblem = error instanceof VariableProblem || (error instanceof WarehouseProblem && !error.retryable)
    if (!isKnownProblem) throw error
    const message = redact.text(error.message)
    // Other messages of the warehouse may contain values of rows.
    const isPublic = error instanceof VariableProblem || safeCodes.has(error.code)
    return checkNotRun(check, message, isPublic ? message : couldNotBeRun)
  }
}

const redactRows = (
  { columns, rows }: FirstRows,
  redact: ReturnType<typeof createRedactor>,
): Pick<CheckFindings, 'columns' | 'rows'> => ({
  columns: columns.map((column) => ({ ...column, name: redact.text(column.name), label: redact.text(column.label) })),
  rows: rows.map((row) => row.map(redact.cell)),
})

/** The message for users who may not read the check. */
export const couldNotBeRun = 'The check could not be run. Users with read access to the check can see the reason.'

/** The codes of problems with messages that never contain text from the warehouse. */
const safeCodes = new Set(['QUERY_TIMEOUT', 'RESULT_TOO_LARGE'])

/** Returns the outcome of a check that could not run. */
export function checkNotRun(check: CheckToRun, message: string, publicMessage = message): CheckOutcome {
  return {
    check,
    status: 'ERROR',
    message: toStorableText(message, 2_000),
    publicMessage: toStorableText(publicMessage, 2_000),
    completedAt: new Date(),
  }
}

function describeViolations({ rows, violations }: Pick<CheckFindings, 'rows' | 'violations'>): string {
  if (violations === undefined && rows.length === 0)
    return 'Rows violate the check; the first is too large to be shown.'
  if (violations === undefined) return `More than ${rows.length.toLocaleString('en')} rows violate the check.`
  return violations === 1 ? '1 row violates the check.' : `${violations.toLocaleString('en')} rows violate the check.`
}

/** The timeout for counting the violating rows, in seconds. */
const countTimeout = 5

/** Returns the number of rows of a query; undefined if counting fails or times out. */
async function countRows(
  warehouse: { queries: Pick<QueryRunner, 'query'> },
  query: UserQuery,
  signal: AbortSignal,
): Promise<number | undefined> {
  // The line break ends a comment in the query's last line. Otherwise the comment would include the parenthesis.
  const text = `select count(*) from (\n${trimStatementEnd(query.text)}\n) as violations`
  const countResult = await warehouse.queries
    .query({ ...query, text, limits: { rows: 1, seconds: countTimeout } }, signal)
    .catch(() => undefined)
  signal.throwIfAborted()
  const count = Number(countResult?.rows[0]?.[0])
  return Number.isSafeInteger(count) ? count : undefined
}

interface FirstRows extends Pick<QueryRows, 'columns' | 'rows'> {
  /** Whether `rows` contains all rows of the query. */
  complete: boolean
  /** Whether the query returns no rows. */
  isEmpty: boolean
}

/** The result of a query if its first row is too large to be returned. */
const firstRowOmitted: FirstRows = { columns: [], rows: [], complete: false, isEmpty: false }

/**
 * Returns the first rows of a query. If the organisation has no free query slot, or the warehouse is busy for another
 * reason, tries again for `slotTimeoutSeconds`, so that a long load does not fail at its checks for this reason.
 */
async function readFirstRows(
  warehouse: { queries: Pick<QueryRunner, 'query'> },
  query: UserQuery,
  slotTimeoutSeconds: number,
  signal: AbortSignal,
): Promise<FirstRows> {
  const deadline = performance.now() + slotTimeoutSeconds * 1_000
  for (;;) {
    try {
      const { columns, rows, more, truncated } = await warehouse.queries.query(query, signal)
      return { columns, rows, complete: !more && !truncated, isEmpty: rows.length === 0 }
    } catch (error) {
      if (!(error instanceof WarehouseProblem)) throw error
      if (error.code === 'ROW_TOO_LARGE') return firstRowOmitted
      if (!isBusy(error) || performance.now() > deadline) throw error
      await sleep(1_000, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}
