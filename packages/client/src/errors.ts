import type { ProblemDocument, FieldViolation } from '@sluice/contracts'

/** The service returned a problem. `message` is the problem's detail, which is written for users. */
export class RemoteProblem extends Error {
  override readonly name = 'RemoteProblem'
  /** The HTTP status, 400 to 599. */
  readonly status: number
  /** A stable code that programs can rely on. */
  readonly code: string
  readonly errors: readonly FieldViolation[]
  readonly requestId: string | undefined

  constructor({ detail, title, status, code, errors = [], requestId }: ProblemDocument) {
    super(detail ?? title)
    this.status = status
    this.code = code
    this.errors = errors
    this.requestId = requestId
  }
}

/**
 * - `unreachable`: no connection, or it broke before the response was complete;
 * - `timed-out`: no complete response in time;
 * - `overloaded`: the service or its proxy returned 502, 503 or 504;
 * - `malformed-answer`: the response does not match its contract.
 */
type UnavailableReason = 'unreachable' | 'timed-out' | 'overloaded' | 'malformed-answer'

interface UnavailableDetails {
  cause?: unknown
  problem?: ProblemDocument | undefined
}

/** No usable response. Whether a write was carried out is unknown. */
export class ServiceUnavailable extends Error {
  override readonly name = 'ServiceUnavailable'
  readonly reason: UnavailableReason
  /** The problem document of an overloaded service, if it sent one. */
  readonly problem: ProblemDocument | undefined

  constructor(reason: UnavailableReason, message: string, { cause, problem }: UnavailableDetails = {}) {
    super(message, { cause })
    this.reason = reason
    this.problem = problem
  }
}
