/** Stable error codes of outgoing requests. Connectors use the same codes. */
export type OutgoingCode =
  | 'ADDRESS_NOT_ALLOWED'
  | 'HOST_UNKNOWN'
  | 'CONNECTION_REFUSED'
  | 'CONNECTION_TIMEOUT'
  | 'CONNECTION_LOST'
  | 'CERTIFICATE_NOT_TRUSTED'
  | 'OTHER_PROTOCOL'
  | 'REDIRECTED'
  | 'ANSWER_TOO_LARGE'

const transientCodes: ReadonlySet<OutgoingCode> = new Set([
  'HOST_UNKNOWN',
  'CONNECTION_REFUSED',
  'CONNECTION_TIMEOUT',
  'CONNECTION_LOST',
])

interface OutgoingProblemDetails {
  refused?: boolean
  cause?: unknown
  code?: OutgoingCode
}

/** A request to an address that a user supplied was rejected or failed. The message is for the user. */
export class OutgoingProblem extends Error {
  override readonly name = 'OutgoingProblem'
  /** Whether the address is not allowed, so that no request was sent. */
  readonly refused: boolean
  readonly code: OutgoingCode

  constructor(message: string, { refused = false, cause, code }: OutgoingProblemDetails = {}) {
    super(message, { cause })
    this.refused = refused
    this.code = code ?? (refused ? 'ADDRESS_NOT_ALLOWED' : 'CONNECTION_LOST')
  }

  /** Returns whether a retry may succeed. An unknown host counts as transient, because DNS records may be changing. */
  get isTransient(): boolean {
    return transientCodes.has(this.code)
  }
}

export const createAddressRefusal = (message: string): OutgoingProblem =>
  new OutgoingProblem(message, { refused: true })

/**
 * Returns the problem for a failed request to `host`. If a cause of the error is an `OutgoingProblem`, returns that
 * unchanged.
 */
export function toOutgoingProblem(error: unknown, host: string, seconds: number): OutgoingProblem {
  const causes = listCauses(error)
  const outgoing = causes.find((cause) => cause instanceof OutgoingProblem)
  if (outgoing) return outgoing
  const explanation = causes.map((cause) => explainCause(cause, host, seconds)).find((one) => one !== undefined)
  const [code, sentence] = explanation ?? ['CONNECTION_LOST', `The connection to ${host} failed.`]
  return new OutgoingProblem(sentence, { cause: error, code })
}

/** Returns an error and its causes, outermost first, at most eight levels. */
export function listCauses(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (let cause = error; cause !== undefined && cause !== null && causes.length < 8; cause = (cause as Error).cause) {
    causes.push(cause)
    if (cause instanceof AggregateError) causes.push(...cause.errors)
  }
  return causes
}

const knownErrors: Record<string, [OutgoingCode, (host: string) => string]> = {
  ENOTFOUND: ['HOST_UNKNOWN', (host) => `The host ${host} does not exist.`],
  EAI_AGAIN: ['HOST_UNKNOWN', (host) => `The name ${host} could not be resolved.`],
  ECONNREFUSED: ['CONNECTION_REFUSED', (host) => `Nothing accepts connections at ${host}.`],
  ECONNRESET: ['CONNECTION_LOST', (host) => `${host} closed the connection before the response was complete.`],
  EHOSTUNREACH: ['CONNECTION_REFUSED', (host) => `${host} cannot be reached from the network of the Sluice server.`],
  ENETUNREACH: ['CONNECTION_REFUSED', (host) => `${host} cannot be reached from the network of the Sluice server.`],
  CERT_HAS_EXPIRED: ['CERTIFICATE_NOT_TRUSTED', (host) => `The certificate of ${host} has expired.`],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['CERTIFICATE_NOT_TRUSTED', (host) => `The certificate of ${host} is self-signed.`],
  SELF_SIGNED_CERT_IN_CHAIN: [
    'CERTIFICATE_NOT_TRUSTED',
    (host) => `The certificate of ${host} comes from a certificate authority that the Sluice server does not trust.`,
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'CERTIFICATE_NOT_TRUSTED',
    (host) => `${host} does not send the intermediate certificates of its certificate.`,
  ],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [
    'CERTIFICATE_NOT_TRUSTED',
    (host) => `The certificate of ${host} comes from a certificate authority that the Sluice server does not trust.`,
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'CERTIFICATE_NOT_TRUSTED',
    (host) => `The certificate of ${host} is for another host name.`,
  ],
  UND_ERR_SOCKET: ['CONNECTION_LOST', (host) => `${host} closed the connection before the response was complete.`],
  UND_ERR_HEADERS_OVERFLOW: ['OTHER_PROTOCOL', (host) => `${host} sent headers that are too large.`],
}

/**
 * Returns the code and the sentence for the cause of a failed request; undefined for an unknown cause. `seconds` is the
 * time limit of the request.
 */
function explainCause(cause: unknown, host: string, seconds: number): [OutgoingCode, string] | undefined {
  const { code, name, message } = (cause ?? {}) as { code?: unknown; name?: unknown; message?: unknown }
  if (message === 'bad port')
    return ['OTHER_PROTOCOL', `The port in ${host} is reserved for a protocol other than HTTP. Use another port.`]
  const key = String(code)
  if (Object.hasOwn(knownErrors, key)) {
    const [outgoingCode, formatSentence] = knownErrors[key]!
    return [outgoingCode, formatSentence(host)]
  }
  if (key === 'UND_ERR_HEADERS_TIMEOUT' || key === 'UND_ERR_BODY_TIMEOUT')
    return ['CONNECTION_TIMEOUT', `${host} sent nothing for ${seconds} seconds.`]
  const timedOut = name === 'TimeoutError' || /TIMEOUT|ETIMEDOUT/.test(key)
  if (timedOut) return ['CONNECTION_TIMEOUT', `${host} did not respond completely within ${seconds} seconds.`]
  if (/^ERR_SSL|^EPROTO/.test(key)) return ['OTHER_PROTOCOL', `${host} does not use TLS correctly.`]
  return key.startsWith('HPE_') ? ['OTHER_PROTOCOL', `The response of ${host} is not HTTP.`] : undefined
}
