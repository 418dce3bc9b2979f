import type { ResultEnvelope } from '@sluice/contracts'

interface EnvelopeContent {
  /** The first part of `messageKey`: the resource to which the result belongs. */
  area: string
  status?: ResultEnvelope['status']
  errorCode?: string
  message: string
  /** The last part of `messageKey`. Default: the error code in lower case. */
  key?: string
  /** The technical cause for operators, without secrets. */
  cause?: string | undefined
  data?: Record<string, unknown>
}

/**
 * Returns the envelope (a response that reports a result) of a finished operation. Its HTTP status is 200 even if the
 * result is an error.
 */
export const createResultEnvelope = (result: EnvelopeContent): ResultEnvelope => ({
  ...toEnvelope(result),
  httpStatus: '200 OK',
  httpStatusCode: 200,
  statusCode: 200,
})

/** Returns the envelope for a run that was queued, started or cancelled. */
export const createAcceptedRunResult = (key: string, message: string, run: string): ResultEnvelope => ({
  ...toEnvelope({ area: 'run', key, message, data: { jobId: run, taskId: run } }),
  httpStatus: '202 Accepted',
  httpStatusCode: 202,
  statusCode: 202,
})

/**
 * Builds the result of an operation. Example of a message key: area `cursor` and key `NOT_FOUND` give
 * `cursor.not-found`.
 */
function toEnvelope({ area, status = 'OK', errorCode = 'OK', message, key = errorCode, cause, data }: EnvelopeContent) {
  return {
    status,
    errorCode,
    message: message.slice(0, 2000),
    messageKey: `${area}.${key.toLowerCase().replaceAll('_', '-')}`,
    ...(cause && { devMessage: cause.slice(0, 4000) }),
    ...(data && { data }),
  }
}
