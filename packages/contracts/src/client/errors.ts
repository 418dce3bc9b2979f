import type { ProblemDocument, Violation } from '../problem.ts'

/** The service returned a problem. `message` is the problem's detail, which is written for users. */
export class RemoteProblem extends Error {
  override readonly name = 'RemoteProblem'
  /** The HTTP status, 400 to 599. */
  readonly status: number
  /** A stable code that programs can rely on. */
  readonly code: string
  readonly title: string
  readonly detail: string | undefined
  readonly errors: readonly Violation[]
  readonly requestId: string | undefined
  readonly document: ProblemDocument
  /** Milliseconds to wait before a retry (429). */
  readonly retryAfter: number | undefined

  constructor(document: ProblemDocument, retryAfter?: number) {
    super(document.detail ?? document.title)
    this.status = document.status
    this.code = document.code
    this.title = document.title
    this.detail = document.detail
    this.errors = document.errors ?? []
    this.requestId = document.requestId
    this.document = document
    this.retryAfter = retryAfter
  }
}

/**
 * - `unreachable`: no connection, or it broke before the response was complete;
 * - `timed-out`: no complete response in time;
 * - `overloaded`: the service or its proxy returned 502, 503 or 504;
 * - `circuit-open`: the service failed repeatedly, so no request was sent;
 * - `malformed-answer`: the response does not match its contract.
 */
export type UnavailableReason = 'unreachable' | 'timed-out' | 'overloaded' | 'circuit-open' | 'malformed-answer'

interface UnavailableDetails {
  cause?: unknown
  retryAfter?: number | undefined
  problem?: ProblemDocument | undefined
}

/** No usable response. Whether a write was carried out is unknown, except when the circuit was open. */
export class ServiceUnavailable extends Error {
  override readonly name = 'ServiceUnavailable'
  readonly reason: UnavailableReason
  /** Milliseconds to wait before a retry. */
  readonly retryAfter: number | undefined
  /** The problem document of an overloaded service, if it sent one. */
  readonly problem: ProblemDocument | undefined

  constructor(reason: UnavailableReason, message: string, { cause, retryAfter, problem }: UnavailableDetails = {}) {
    super(message, { cause })
    this.reason = reason
    this.retryAfter = retryAfter
    this.problem = problem
  }
}

/** Converts a Retry-After header to milliseconds from now; undefined if it is absent or invalid. */
export function retryAfterOf(header: string | null): number | undefined {
  if (header === null) return undefined
  const wait = /^\s*\d{1,9}\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
