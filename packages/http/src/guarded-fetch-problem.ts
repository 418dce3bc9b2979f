/** A request to an address that somebody typed was refused, or came to nothing. The message is a sentence for that person. */
export class OutgoingProblem extends Error {
  override readonly name = 'OutgoingProblem'
  /** A rule of ours forbids it, so that it was not tried. */
  readonly refused: boolean

  constructor(message: string, { refused = false, cause }: { refused?: boolean; cause?: unknown } = {}) {
    super(message, { cause })
    this.refused = refused
  }
}

export const refused = (message: string): OutgoingProblem => new OutgoingProblem(message, { refused: true })

/** What went wrong on the way to `host`, as a sentence. A problem of ours anywhere among the causes is it. */
export function outgoingProblem(error: unknown, host: string, seconds: number): OutgoingProblem {
  const causes = causesOf(error)
  const ours = causes.find((cause) => cause instanceof OutgoingProblem)
  if (ours) return ours
  const sentence = causes.map((cause) => sentenceOf(cause, host, seconds)).find((found) => found !== undefined)
  return new OutgoingProblem(sentence ?? `The connection to ${host} failed.`, { cause: error })
}

/** An error and what caused it, outermost first; eight deep at most. */
export function causesOf(error: unknown): unknown[] {
  const found: unknown[] = []
  for (let at = error; at !== undefined && at !== null && found.length < 8; at = (at as Error).cause) {
    found.push(at)
    if (at instanceof AggregateError) found.push(...at.errors)
  }
  return found
}

const sentences: Record<string, (host: string) => string> = {
  ENOTFOUND: (host) => `There is no host ${host}: its name is not known.`,
  EAI_AGAIN: (host) => `The name ${host} could not be looked up just now.`,
  ECONNREFUSED: (host) => `Nothing answers at ${host}: the connection was refused.`,
  ECONNRESET: (host) => `${host} broke off the connection.`,
  EHOSTUNREACH: (host) => `There is no way to ${host} from here.`,
  ENETUNREACH: (host) => `There is no way to ${host} from here.`,
  CERT_HAS_EXPIRED: (host) => `The certificate of ${host} has expired.`,
  DEPTH_ZERO_SELF_SIGNED_CERT: (host) => `The certificate of ${host} is signed by nobody but itself.`,
  SELF_SIGNED_CERT_IN_CHAIN: (host) => `The certificate of ${host} comes from an authority that is not known here.`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: (host) => `${host} does not send the certificates between its own and a known one.`,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: (host) =>
    `The certificate of ${host} comes from an authority that is not known here.`,
  ERR_TLS_CERT_ALTNAME_INVALID: (host) => `The certificate that ${host} shows is for another name.`,
  UND_ERR_SOCKET: (host) => `${host} broke off the connection.`,
  UND_ERR_HEADERS_OVERFLOW: (host) => `${host} sent headers that are too large.`,
}

function sentenceOf(cause: unknown, host: string, seconds: number): string | undefined {
  const { code, name } = (cause ?? {}) as { code?: unknown; name?: unknown }
  const key = String(code)
  if (Object.hasOwn(sentences, key)) return sentences[key]!(host)
  const timedOut = name === 'TimeoutError' || /TIMEOUT|ETIMEDOUT/.test(key)
  if (timedOut) return `${host} did not answer in full within ${seconds} seconds.`
  if (/^ERR_SSL|^EPROTO/.test(key)) return `${host} does not speak TLS as it should.`
  return key.startsWith('HPE_') ? `What ${host} answers is not HTTP.` : undefined
}
