import { isUnavailable, SealProblem } from '@sluice/database'
import { advised } from '../../advice.ts'
import { DestinationProblem } from '../destinations/destination-problem.ts'
import { LoadProblem } from '../loads/load-feeds.ts'
import { SourceProblem } from '../sources/source.ts'
import { VariableProblem } from '../variables/variable-problem.ts'
import { WarehouseProblem } from '../warehouses/warehouse.ts'

/** Why an attempt failed, as data. `expected`: a person can mend it, or time does; otherwise it is our mistake. */
export interface Failure {
  code: string
  message: string
  retryable: boolean
  expected: boolean
  /** Something that the run needs is away: trying again once it is back tells whether anything is wrong with the run. */
  away: boolean
}

/** What went wrong first. When clearing up after it fails as well, JavaScript hands out that later failure around it. */
export function firstError(error: unknown): unknown {
  let first = error
  while (first instanceof SuppressedError) first = first.suppressed
  return first
}

/** What an error means for the run it ended. `isDataset`: the message is for the publisher of a public dataset. */
export function failureOf(thrown: unknown, run: string, { isDataset = false } = {}): Failure {
  const error = firstError(thrown)
  if (error instanceof WarehouseProblem) {
    const { code, sentence, advice, retryable } = error
    const message = advised(sentence, advice, { isDataset })
    return { code, message, retryable, expected: true, away: code === 'WAREHOUSE_UNAVAILABLE' }
  }
  if (error instanceof DestinationProblem) {
    const { code, message, retryable } = error
    return { code, message, retryable, expected: true, away: false }
  }
  if (error instanceof SourceProblem) {
    const message = advised(error.sentence, error.advice, { isDataset })
    return { code: error.code, message, retryable: false, expected: true, away: false }
  }
  if (error instanceof LoadProblem || error instanceof VariableProblem)
    return { code: error.code, message: error.message, retryable: false, expected: true, away: false }
  if (error instanceof SealProblem)
    return {
      code: 'SECRET_KEY_MISSING',
      message: `${error.message} Whoever runs the service does so, and restarts it; then run it again. The old data stays.`,
      retryable: false,
      expected: true,
      away: false,
    }
  if (isUnavailable(error))
    return {
      code: 'DATABASE_UNAVAILABLE',
      message: 'The database of the pipeline service did not answer. The run is tried again.',
      retryable: true,
      expected: true,
      away: true,
    }
  return {
    code: 'INTERNAL_ERROR',
    message: `The run failed for a reason this version does not know. The old data stays. Whoever runs the service finds it in the worker's log under run ${run}.`,
    retryable: false,
    expected: false,
    away: false,
  }
}

/** Seconds until the next try: 5, 15, 45, 135, from then on 300, a fifth less or more, so that runs which failed together part. */
export function backoff(tries: number, random: () => number = Math.random): number {
  return Math.round(Math.min(300, 5 * 3 ** (tries - 1)) * (0.8 + random() * 0.4))
}
