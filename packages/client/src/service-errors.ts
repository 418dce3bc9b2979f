/** A violation of one field in the body or query of the request. */
export interface FieldViolation {
  /** JSON pointer of the field, such as `/dataWarehouseTarget/tableName`; `/` for the whole body. */
  pointer: string
  /** The error of the field, without a subject: `must not be empty`. */
  detail: string
}

/** A problem document (RFC 9457) of a service. */
export interface ProblemDocument {
  type: string
  title: string
  status: number
  detail?: string
  instance?: string
  code: string
  requestId?: string
  errors?: FieldViolation[]
}

/** The service rejected the request. `message` is a sentence for users: what is wrong, and what to do. */
export class RemoteProblem extends Error {
  override readonly name = 'RemoteProblem'
  /** The HTTP status, 400 to 599. */
  readonly status: number
  /** A stable code that programs can rely on, such as `not-found`. docs/problems.md lists all codes. */
  readonly code: string
  /** The violations of single fields, for showing them in forms. */
  readonly errors: readonly FieldViolation[]
  /** The request id in the service's log. */
  readonly requestId: string | undefined
  /** Seconds to wait before the next attempt, if the service sent Retry-After. */
  readonly retryAfter: number | undefined

  constructor({ detail, title, status, code, errors = [], requestId }: ProblemDocument, retryAfter?: number) {
    super(detail ?? title)
    this.status = status
    this.code = code
    this.errors = errors
    this.requestId = requestId
    this.retryAfter = retryAfter
  }
}

/**
 * - `unreachable`: no connection, or it broke before the response was complete.
 * - `timed-out`: no complete response in time.
 * - `overloaded`: the service or its proxy returned 502, 503 or 504.
 * - `malformed-answer`: the response does not come from Sluice, or from another version of it.
 */
type UnavailableReason = 'unreachable' | 'timed-out' | 'overloaded' | 'malformed-answer'

interface UnavailableDetails {
  cause?: unknown
  problem?: ProblemDocument | undefined
  retryAfter?: number | undefined
}

/**
 * No usable response arrived. It is unknown whether a write was carried out, except for `overloaded`: then it was not.
 */
export class ServiceUnavailable extends Error {
  override readonly name = 'ServiceUnavailable'
  readonly reason: UnavailableReason
  /** The problem document of an overloaded service, if it sent one. */
  readonly problem: ProblemDocument | undefined
  /** Seconds to wait before the next attempt, if the service sent Retry-After. */
  readonly retryAfter: number | undefined

  constructor(reason: UnavailableReason, message: string, { cause, problem, retryAfter }: UnavailableDetails = {}) {
    super(message, { cause })
    this.reason = reason
    this.problem = problem
    this.retryAfter = retryAfter
  }
}

/** Wraps an error of the source of a body, so that it is not mistaken for a connection error. */
export class BodySourceError extends Error {
  constructor(cause: unknown) {
    super('The body cannot be read.', { cause })
  }
}
