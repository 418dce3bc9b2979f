import { isUnavailable } from '@sluice/database'
import { LoadProblem } from '../loads/load-feeds.ts'
import { SourceProblem } from '../sources/source.ts'
import { WarehouseProblem } from '../warehouses/warehouse.ts'

/** Why an attempt failed, as data. `expected`: a person can mend it, or time does; otherwise it is our mistake. */
export interface Failure {
  code: string
  message: string
  retryable: boolean
  expected: boolean
}

/** What an error means for the run it ended. */
export function failureOf(error: unknown, run: string): Failure {
  if (error instanceof WarehouseProblem) {
    const { code, message, retryable } = error
    return { code, message, retryable, expected: true }
  }
  if (error instanceof SourceProblem || error instanceof LoadProblem)
    return { code: error.code, message: error.message, retryable: false, expected: true }
  if (isUnavailable(error))
    return {
      code: 'DATABASE_UNAVAILABLE',
      message: 'The database of the pipeline service did not answer. The run is tried again.',
      retryable: true,
      expected: true,
    }
  return {
    code: 'INTERNAL_ERROR',
    message: `The run failed for a reason this version does not know. The old data stays. Whoever runs the service finds it in the worker's log under run ${run}.`,
    retryable: false,
    expected: false,
  }
}

/** Seconds until the next try: 5, 15, 45, 135, a fifth less or more, so that runs which failed together part. */
export function backoff(tries: number, random: () => number = Math.random): number {
  return Math.round(5 * 3 ** (tries - 1) * (0.8 + random() * 0.4))
}
