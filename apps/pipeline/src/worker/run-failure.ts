import { isUnavailable, SealProblem } from '@sluice/database'
import { ReaderEnded, withAdvice, SourceProblem } from '@sluice/row-stream'
import { DestinationProblem } from '../destinations/destination-problem.ts'
import { LoadProblem } from '@sluice/warehouses/load-row-streams'
import { VariableProblem } from '../variables/variable-problem.ts'
import { WarehouseProblem } from '@sluice/warehouses/warehouse'

/**
 * Why an attempt failed. `expected` is true if a user can fix the cause, or if the cause is temporary. It is false for
 * an internal error.
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
 * Returns the first error that was thrown. If disposing of a resource then throws another one, JavaScript wraps both in
 * a `SuppressedError`.
 */
export function findOriginalError(error: unknown): unknown {
  let first = error
  while (first instanceof SuppressedError) first = first.suppressed
  return first
}

/**
 * Converts an error to the failure of its run. `isDataset` means that the message is for the publisher of a public
 * dataset.
 */
export function describeFailure(thrown: unknown, run: string, { isDataset = false } = {}): Failure {
  const error = findOriginalError(thrown)
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

const firstDelaySeconds = 5
const maxDelaySeconds = 300

/**
 * Returns the seconds until the next attempt: 5, 15, 45, 135, then 300. Shortens them at random by up to 20 %, so that
 * runs that failed together do not retry together.
 */
export function retryDelaySeconds(tries: number, random: () => number = Math.random): number {
  const seconds = Math.min(maxDelaySeconds, firstDelaySeconds * 3 ** (tries - 1))
  const jitter = 0.8 + random() * 0.2
  return Math.round(seconds * jitter)
}
