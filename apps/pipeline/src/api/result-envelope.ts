import type { ResultEnvelope } from '@sluice/contracts'

interface EnvelopeContent {
  /** The first part of `messageKey`: the resource that the result is about. */
  area: string
  status?: ResultEnvelope['status']
  errorCode?: string
  message: string
  /** The last part of `messageKey`, where several results have one error code. */
  key?: string
  /** The cause, for those who run the service. Without secrets. */
  cause?: string | undefined
  data?: Record<string, unknown>
}

/** The envelope of an operation that has a result now. A bad result is still an answer. */
export const resultEnvelope = (result: EnvelopeContent): ResultEnvelope => ({
  ...envelopeOf(result),
  httpStatus: '200 OK',
  httpStatusCode: 200,
  statusCode: 200,
})

/** The envelope of a requested run. */
export const acceptedRun = (key: string, message: string, run: string): ResultEnvelope => ({
  ...envelopeOf({ area: 'run', key, message, data: { jobId: run, taskId: run } }),
  httpStatus: '202 Accepted',
  httpStatusCode: 202,
  statusCode: 202,
})

function envelopeOf({ area, status = 'OK', errorCode = 'OK', message, key = errorCode, cause, data }: EnvelopeContent) {
  return {
    status,
    errorCode,
    message: message.slice(0, 2000),
    messageKey: `${area}.${key.toLowerCase().replaceAll('_', '-')}`,
    ...(cause && { devMessage: cause.slice(0, 4000) }),
    ...(data && { data }),
  }
}
