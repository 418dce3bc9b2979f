import { isUnavailable, SealProblem } from '@sluice/database'
import { ReaderEnded, withAdvice, SourceProblem } from '@sluice/row-stream'
import { DestinationProblem } from '../destinations/destination-problem.ts'
import { LoadProblem } from '@sluice/warehouses/load-row-streams'
import { VariableProblem } from '../variables/variable-problem.ts'
import { WarehouseProblem } from '@sluice/warehouses/warehouse'

/**
 * The reason why an attempt failed. `expected` means that a user can fix the cause or that it is temporary; otherwise
 * it is an internal error.
 */
export interface Failure {
  code: string
  message: string
  retryable: boolean
  expected: boolean
  /** Whether a server that the run needs is unavailable, so that the failure is not caused by the run itself. */
  isServerUnavailable: boolean
}

/**
 * Returns the original error. If disposing of a resource fails as well, JavaScript wraps the original error in a
 * `SuppressedError`.
 */
export function firstError(error: unknown): unknown {
  let first = error
  while (first instanceof SuppressedError) first = first.suppressed
  return first
}

/**
 * Converts an error to the failure of its run. `isDataset` means that the message is for the publisher of a public
 * dataset.
 */
export function failureOf(thrown: unknown, run: string, { isDataset = false } = {}): Failure {
  const error = firstError(thrown)
  if (error instanceof WarehouseProblem) {
    const { code, sentence, advice, retryable } = error
    const message = withAdvice(sentence, advice, { isDataset })
    return { code, message, retryable, expected: true, isServerUnavailable: code === 'WAREHOUSE_UNAVAILABLE' }
  }
  if (error instanceof DestinationProblem) {
    const { code, message, retryable } = error
    return { code, message, retryable, expected: true, isServerUnavailable: false }
  }
  if (error instanceof SourceProblem) {
    const message = withAdvice(error.sentence, error.advice, { isDataset })
    return { code: error.code, message, retryable: false, expected: true, isServerUnavailable: false }
  }
  if (error instanceof LoadProblem || error instanceof VariableProblem)
    return { code: error.code, message: error.message, retryable: false, expected: true, isServerUnavailable: false }
  if (error instanceof SealProblem)
    return {
      code: 'SECRET_KEY_MISSING',
      message: `${error.message} Ask the operator to add the key and to restart the service, then run again. The old data stays.`,
      retryable: false,
      expected: true,
      isServerUnavailable: false,
    }
  if (error instanceof ReaderEnded)
    return {
      code: 'READER_ENDED',
      message: `${error.message} The run is retried.`,
      retryable: true,
      expected: false,
      isServerUnavailable: false,
    }
  if (isUnavailable(error))
    return {
      code: 'DATABASE_UNAVAILABLE',
      message: 'The database of the pipeline service did not answer. The run is retried.',
      retryable: true,
      expected: true,
      isServerUnavailable: true,
    }
  return {
    code: 'INTERNAL_ERROR',
    message: `Internal error. The old data stays. See the worker's log for run ${run}.`,
    retryable: false,
    expected: false,
    isServerUnavailable: false,
  }
}

/**
 * Returns the seconds until the next attempt: 5, 15, 45, 135, then 300. Shortens them at random by up to 20 %, so that
 * runs that failed together do not retry together.
 */
export function retryDelaySeconds(tries: number, random: () => number = Math.random): number {
  return Math.round(Math.min(300, 5 * 3 ** (tries - 1)) * (0.8 + random() * 0.2))
}
