import { failpoint } from '@sluice/process'
import { type ReaderAdvice, withAdvice } from '@sluice/row-stream'
import type { Catalog } from './catalog.ts'
import type { Loader } from './loader.ts'
import type { QueryRunner, TextPosition, UserQuery } from './query-runner.ts'
import type { WarehouseMaintenance } from './upkeep.ts'
import type { ViewStore } from './view-store.ts'

export type * from './catalog.ts'
export type * from './load-target.ts'
export { parseProfileReference } from './load-target.ts'
export type * from './loader.ts'
export { keepsRows } from './loader.ts'
export type * from './query-runner.ts'

/** An organisation's short name in its warehouses, and the secrets from which its passwords there are derived. */
export interface WarehouseCredentials {
  key: string
  loadPassword: string
  readPassword: string
}

/**
 * One organisation's warehouse. Every statement runs as one of that organisation's own login roles. Disposing it closes
 * its connections.
 */
export interface Warehouse extends AsyncDisposable {
  readonly loader: Loader
  readonly catalog: Catalog
  readonly queries: QueryRunner
  readonly views: ViewStore
  readonly upkeep: WarehouseMaintenance
}

/**
 * The warehouse rejected an operation. The message is a sentence for users. `retryable` is true if waiting may help
 * (restart, lock time-out).
 */
export class WarehouseProblem extends Error {
  override readonly name = 'WarehouseProblem'
  readonly code: string
  readonly retryable: boolean
  /** The message without the advice for the user. */
  readonly sentence: string
  readonly advice: ReaderAdvice | undefined
  /** True if the query names a table or view that does not exist. */
  readonly relationMissing: boolean

  constructor(
    code: string,
    sentence: string,
    options: ErrorOptions & { retryable?: boolean; relationMissing?: boolean; advice?: ReaderAdvice } = {},
  ) {
    super(withAdvice(sentence, options.advice), options)
    this.code = code
    this.sentence = sentence
    this.advice = options.advice
    this.retryable = options.retryable ?? false
    this.relationMissing = options.relationMissing ?? false
  }
}

/** Returns the problem for work that other runs, queries or processes block temporarily. */
export const busyProblem = (sentence: string, options: ErrorOptions = {}): WarehouseProblem =>
  new WarehouseProblem('WAREHOUSE_BUSY', sentence, { ...options, retryable: true })

export const isBusy = (error: unknown): boolean => error instanceof WarehouseProblem && error.code === 'WAREHOUSE_BUSY'

/**
 * Codes that mean that a warehouse, schema, table or ledger does not exist, or that the warehouse rejects Sluice's
 * credentials.
 */
const goneCodes = new Set([
  'WAREHOUSE_MISSING',
  'WAREHOUSE_ACCESS_DENIED',
  'WAREHOUSE_OUTDATED',
  'WAREHOUSE_NOT_SET_UP',
  'WAREHOUSE_NOT_OURS',
  'SCHEMA_MISSING',
  'TABLE_MISSING',
])

/** True if the error means that no published run exists in the warehouse. */
export const isWarehouseGone = (error: unknown): boolean =>
  error instanceof WarehouseProblem && goneCodes.has(error.code)

/** Advice that follows the server's message about a missing table or view. */
export const missingTableAdvice =
  'It was deleted or not created yet. Load the table, create the view, or correct the query.'

/**
 * Returns a server's error message without the values of secret variables, which it may quote. Truncates it to 1,500
 * characters. Values of up to three characters are only replaced in quotes, because any word may contain them.
 */
export function redactVariableValues(message: string, values: readonly (string | null)[]): string {
  let redactedMessage = message.slice(0, 1_500)
  // A value may contain another one, so the longest values are replaced first.
  const texts = values.filter((value) => value !== null).filter((value) => value !== '')
  const longestFirst = texts.toSorted((a, b) => b.length - a.length)
  for (const value of longestFirst) {
    redactedMessage =
      value.length > 3
        ? redactedMessage.replace(new RegExp(RegExp.escape(value), 'giu'), '…')
        : redactedMessage.replaceAll(`'${value}'`, 'the value of a variable')
  }
  return redactedMessage
}

/** Formats a position in a query as part of a sentence, such as ` in line 2, column 7`. Empty without a position. */
export function describePosition(
  position: TextPosition | undefined,
  { toUserPosition = (same) => same }: Pick<UserQuery, 'toUserPosition'>,
): string {
  if (!position) return ''
  const { line, column } = toUserPosition(position)
  return ` in line ${line}${column === undefined ? '' : `, column ${column}`}`
}

/** The data cannot be published, so the published rows stay. The message is for the owner of the pipeline. */
export class LoadProblem extends Error {
  override readonly name = 'LoadProblem'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** This attempt no longer owns its run, because the run was cancelled, deleted, or taken over by another attempt. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/**
 * Checks the fence before the commit point: throws `LeaseLost` unless the attempt owns the run. Throws the signal's
 * reason on abort.
 */
export async function assertCurrentAttempt(
  { run, attempt }: { run: string; attempt: number },
  isCurrentAttempt: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isCurrentAttempt())) throw new LeaseLost(`Attempt ${attempt} no longer owns run ${run}.`)
  await failpoint('in-publication')
  signal.throwIfAborted()
}
