/** A violation of one field, from the body or the query of the request. */
export interface FieldViolation {
  /** JSON pointer of the field, such as `/dataWarehouseTarget/tableName`; `/` for the whole body. */
  pointer: string
  /** What is wrong with the field, without a subject: `must not be empty`. */
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

/** The service refused the request. `message` is a sentence for users: what is wrong, and what to do. */
export class RemoteProblem extends Error {
  override readonly name = 'RemoteProblem'
  /** The HTTP status, 400 to 599. */
  readonly status: number
  /** A stable code that programs can rely on, such as `not-found`. docs/problems.md lists all codes. */
  readonly code: string
  /** The violations of single fields, for forms. */
  readonly errors: readonly FieldViolation[]
  /** The id under which the service logged the request. */
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
 * - `unreachable`: no connection, or it broke before the response was complete;
 * - `timed-out`: no complete response in time;
 * - `overloaded`: the service or its proxy returned 502, 503 or 504;
 * - `malformed-answer`: the response is not one of Sluice, or of another version.
 */
type UnavailableReason = 'unreachable' | 'timed-out' | 'overloaded' | 'malformed-answer'

interface UnavailableDetails {
  cause?: unknown
  problem?: ProblemDocument | undefined
  retryAfter?: number | undefined
}

/** No usable response. It is unknown whether a write was carried out, except for `overloaded`, where it was not. */
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

/** Wraps an error of a body's source, so that it is not mistaken for an error of the connection. */
export class BodySourceError extends Error {
  constructor(cause: unknown) {
    super('The body cannot be read.', { cause })
  }
}
