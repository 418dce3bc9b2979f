import { types } from 'node:util'
import {
  describePosition,
  LeaseLost,
  missingTableAdvice,
  redactVariableValues,
  type UserQuery,
  WarehouseProblem,
  busyProblem,
} from '../warehouse.ts'
import type { SqlDialect } from './sql-dialect.ts'
import { asSentence } from '@sluice/process'

/** Converts an error of the server to a `WarehouseProblem`. Returns every other error unchanged. */
export function toWarehouseProblem(
  { explain }: Pick<SqlDialect, 'explain'>,
  error: unknown,
  qualifiedName: string,
): unknown {
  if (error instanceof WarehouseProblem || error instanceof LeaseLost || !types.isNativeError(error)) return error
  const problem = explain(error)
  if (!problem) return error
  const { code, sentence, retryable = false } = problem
  return new WarehouseProblem(code, sentence(qualifiedName), { cause: error, retryable })
}

/**
 * Converts an error of a user's query to a `WarehouseProblem` with the server's message and the position in the user's
 * query text. Returns other errors unchanged.
 */
export function queryProblemOf(
  dialect: Pick<SqlDialect, 'explain' | 'explainQuery'>,
  error: unknown,
  query: Pick<UserQuery, 'values' | 'toUserPosition'>,
  seconds: number,
): unknown {
  if (error instanceof WarehouseProblem || !types.isNativeError(error)) return error
  const problem = dialect.explainQuery(error, seconds)
  if (!problem) return toWarehouseProblem(dialect, error, 'the warehouse')
  if (problem.code === 'QUERY_TIMEOUT') return tooSlow(seconds)
  const message = redactVariableValues(problem.message, query.values ?? [])
  // The cause is a new error, because the driver's error contains the statement and its values.
  const cause = new Error(message)
  if (problem.code === 'SQL_NOT_ALLOWED')
    return new WarehouseProblem('SQL_NOT_ALLOWED', `The query contains an operation that is not allowed: ${message}`, {
      cause,
    })
  // The server's message says enough about other problems, such as TABLE_BUSY.
  if (problem.code !== 'QUERY_FAILED') return new WarehouseProblem(problem.code, message, { cause })
  const { line, column } = problem
  const position = line === undefined ? undefined : { line, ...(column !== undefined && { column }) }
  // Some servers report a wrong alias with the code of a missing table.
  const isWrongAlias = error.message.startsWith('missing FROM-clause')
  const isMissingTable = dialect.explain(error)?.code === 'TABLE_MISSING' && !isWrongAlias
  const sentence = isMissingTable ? `${asSentence(message)} ${missingTableAdvice}` : message
  return new WarehouseProblem('QUERY_FAILED', `The query failed${describePosition(position, query)}: ${sentence}`, {
    cause,
  })
}

export function tooSlow(seconds: number): WarehouseProblem {
  const sentence = `The query took longer than ${seconds} ${seconds === 1 ? 'second' : 'seconds'} and was stopped. Select fewer rows or simplify the query.`
  return new WarehouseProblem('QUERY_TIMEOUT', sentence)
}

export function concurrentlyChanged(qualifiedName: string): WarehouseProblem {
  const sentence = `Another run changed ${qualifiedName} during the publication of this run. The run is retried automatically.`
  return busyProblem(sentence)
}

/** Returns the problem for a table that another session has read or published for longer than the lock time-out. */
export function tableInUse(lockedName: string, cause?: unknown): WarehouseProblem {
  const sentence = `${lockedName} is locked by a long query of another session. Try again in a moment.`
  return busyProblem(sentence, { cause })
}

/**
 * Converts an error of a statement on dependent views to the problem VIEWS_DEPEND with this sentence. Does not convert
 * temporary problems, or errors that are not from the server.
 */
export function toViewsDependProblem(
  dialect: SqlDialect,
  error: unknown,
  qualifiedName: string,
  sentence: (reason: string) => string,
): unknown {
  const problem = toWarehouseProblem(dialect, error, qualifiedName)
  if (!(problem instanceof WarehouseProblem) || problem.retryable) return problem
  return new WarehouseProblem('VIEWS_DEPEND', sentence(problem.message), { cause: error })
}
