import type { ProblemDocument, FieldViolation } from '@sluice/contracts'

interface ProblemDetails {
  detail?: string
  errors?: FieldViolation[]
  /** Additional response headers, such as Retry-After. */
  headers?: Record<string, string>
  cause?: unknown
}

/** A failure that is reported to the caller with its reason. Any other error is a bug and becomes status 500. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  readonly code: string
  readonly title: string
  readonly errors: FieldViolation[] | undefined
  readonly headers: Record<string, string>

  constructor(
    status: number,
    code: string,
    title: string,
    { detail, errors, headers = {}, cause }: ProblemDetails = {},
  ) {
    super(detail ?? title, { cause })
    this.status = status
    this.code = code
    this.title = title
    this.errors = errors
    this.headers = headers
  }

  /** Returns the problem document (RFC 9457). */
  document(instance: string, requestId: string): ProblemDocument {
    return {
      type: `urn:problem:${this.code}`,
      title: this.title,
      status: this.status,
      detail: this.message,
      instance,
      code: this.code,
      requestId,
      ...(this.errors && { errors: this.errors }),
    }
  }
}

const retryAfter = (seconds: number) => ({ 'Retry-After': String(seconds) })

/** Problems of both services. Each service defines its own problems with the same class. */
export const problems = {
  malformed: (errors: FieldViolation[]) =>
    new Problem(400, 'malformed', 'The request does not match its contract.', {
      detail: joinViolations(errors),
      errors,
    }),
  /**
   * Returns the problem for a value that violates its contract: 422 if the value only exceeds upper bounds, otherwise
   * 400.
   */
  violated: ({ violations, onlyTooLarge }: { violations: FieldViolation[]; onlyTooLarge?: true }) =>
    onlyTooLarge
      ? new Problem(422, 'refused', 'The request is well formed, but violates a rule.', {
          detail: joinViolations(violations),
          errors: violations,
        })
      : problems.malformed(violations),
  unreadableBody: (detail: string) =>
    new Problem(400, 'unreadable-body', 'The request body cannot be read.', { detail }),
  unauthenticated: (detail = 'Sign in and send the access token as "Authorization: Bearer …".') =>
    new Problem(401, 'unauthenticated', 'A valid access token is required.', {
      detail,
      headers: { 'WWW-Authenticate': 'Bearer' },
    }),
  forbidden: (detail: string) => new Problem(403, 'forbidden', 'You are not allowed to do this.', { detail }),
  notFound: (what: string) => new Problem(404, 'not-found', 'Not found.', { detail: `No such ${what}.` }),
  methodNotAllowed: (allowed: string[], hint?: string) =>
    new Problem(405, 'method-not-allowed', 'This address does not support this method.', {
      detail: `Use ${allowed.join(' or ')}.${hint === undefined ? '' : ` ${hint}`}`,
      headers: { Allow: allowed.join(', ') },
    }),
  notAcceptable: (...types: string[]) =>
    new Problem(406, 'not-acceptable', 'The response is not available in a type that Accept allows.', {
      detail:
        types.length === 1
          ? `The response has the type ${types[0]}. Send "Accept: ${types[0]}", or omit the header.`
          : `The response is available as ${types.join(', ')}. Send one of these types in the Accept header, or omit the header.`,
    }),
  conflict: (pointer: string, detail: string) =>
    new Problem(409, 'conflict', 'The change conflicts with stored data.', {
      detail,
      errors: [{ pointer, detail }],
    }),
  stale: () =>
    new Problem(412, 'stale', 'The object has changed since it was read.', {
      detail: 'The If-Match header names an older version. Read the object again and repeat the change.',
    }),
  tooLarge: (limit: number) =>
    new Problem(413, 'too-large', 'The request body is too large.', {
      detail: `The limit is ${limit} bytes. Send a smaller body.`,
    }),
  unsupportedMediaType: (wanted: string) =>
    new Problem(415, 'unsupported-media-type', 'The request body has the wrong media type.', {
      detail: `Send it as ${wanted}.`,
    }),
  misdirected: () =>
    new Problem(421, 'misdirected', 'This installation does not serve this host.', {
      detail:
        'The Host header names another server. Use the public address of this service, or let its operator add the host to ALLOWED_HOSTS.',
    }),
  refused: (pointer: string, detail: string) =>
    new Problem(422, 'refused', 'The request is well formed, but violates a rule.', {
      detail,
      errors: [{ pointer, detail }],
    }),
  tooCostly: () =>
    new Problem(422, 'search-too-costly', 'The search takes too long.', {
      detail: 'Narrow the search: use fewer patterns, a time range, or an exact value of a property.',
    }),
  tooManyRequests: (seconds: number, detail: string) =>
    new Problem(429, 'too-many-requests', 'Too many attempts.', { detail, headers: retryAfter(seconds) }),
  internal: () =>
    new Problem(500, 'internal', 'Internal error.', {
      detail: 'The request failed and changed nothing. The service log contains the reason under this request id.',
    }),
  busy: (title: string) =>
    new Problem(503, 'busy', title, { detail: 'Try again in a few seconds.', headers: retryAfter(2) }),
  unavailable: (part: string, cause?: unknown) =>
    new Problem(503, 'unavailable', 'A required component is not available.', {
      detail: `The ${part} cannot be reached. Try again in a few seconds.`,
      headers: retryAfter(5),
      cause,
    }),
}

function joinViolations(errors: FieldViolation[]): string {
  const shownErrors = errors.slice(0, 3).map(({ pointer, detail }) => `${pointer} ${detail}`)
  return `${shownErrors.join('; ')}${errors.length > 3 ? `; and ${errors.length - 3} more` : ''}.`
}
