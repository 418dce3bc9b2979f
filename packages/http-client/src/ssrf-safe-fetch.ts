import type { ResponseHeaders, SsrfSafeAgent } from './ssrf-safe-fetch-agent.ts'
import type { OutgoingAllowList } from './outgoing-allow-list.ts'
import { type ResolvedAddress, createHostResolver } from './resolve-allowed-host.ts'
import { OutgoingProblem, toOutgoingProblem, createAddressRefusal } from './ssrf-safe-fetch-problem.ts'

export interface SsrfSafeFetchOptions {
  allowed: OutgoingAllowList
  /** The time limit in milliseconds for the whole request and response, including the body. */
  timeLimitMs?: number
  /** The maximum bytes of a body, after decompression. */
  maxBytes?: number
  /** The time limit for connecting, in milliseconds. Default: `timeLimitMs`. */
  connectLimit?: number
  /** True to follow redirects, checking each like the first address. Default: a redirect is a problem. */
  follow?: boolean
  /** True to return redirect responses to the caller unchanged. Takes precedence over `follow`. */
  returnRedirects?: boolean
  /**
   * Returns all addresses of a host name. Default: the operating system's lookup for names that the operator allows,
   * `createLimitedDnsLookup` for all others.
   */
  lookup?: (host: string) => Promise<ResolvedAddress[]>
}

/** A response with the body as it was sent. The caller must read the chunks to their end, or cancel. */
export interface SsrfSafeResponse {
  status: number
  headers: ResponseHeaders
  /** Throws `OutgoingProblem` if the connection breaks. */
  chunks: AsyncIterable<Uint8Array>
  cancel(): void
}

/** Sends requests to addresses that users typed. Every failure is an `OutgoingProblem`. */
export interface SsrfSafeFetch {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
  /**
   * Sends a GET request. The time limit applies to each pause of the server. Neither the duration of the response nor
   * its size is limited: the caller can abort it.
   */
  get(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<SsrfSafeResponse>
  /** Throws if the address is not allowed. Resolves the name but does not connect. */
  check(url: string | URL): Promise<void>
  close(): Promise<void>
}

/**
 * Returns a fetch function for addresses that users entered. It allows public addresses by https, and those on the
 * operator's allow-list. Every new connection checks the addresses to which it connects, which prevents DNS rebinding.
 */
export function ssrfSafeFetch({
  allowed,
  timeLimitMs = 10_000,
  maxBytes = 1_048_576,
  connectLimit = timeLimitMs,
  follow = false,
  returnRedirects = false,
  lookup,
}: SsrfSafeFetchOptions): SsrfSafeFetch {
  const seconds = Math.ceil(timeLimitMs / 1000)
  const resolveHost = createHostResolver({
    allowed,
    timeLimitMs: Math.min(timeLimitMs, 5_000),
    ...(lookup && { lookup }),
  })

  /** Resolves a host to the addresses to connect to. Throws if one of them is not allowed. */
  async function resolveAllowed(protocol: string, hostname: string, port: number): Promise<ResolvedAddress[]> {
    const { addresses, isInternalName } = await resolveHost(hostname, port)
    if (protocol !== 'https:' && !isInternalName)
      throw createAddressRefusal(`${hostname.replace(/^\[(.+)\]$/, '$1')} accepts https only.`)
    return addresses
  }

  let agent: Promise<SsrfSafeAgent> | undefined
  /** Imports the agent with the first request, because many processes never send one. */
  const getAgent = (): Promise<SsrfSafeAgent> => {
    agent ??= import('./ssrf-safe-fetch-agent.ts').then(({ createSsrfSafeAgent }) =>
      createSsrfSafeAgent(resolveAllowed, { timeLimitMs, connectLimit }),
    )
    return agent
  }

  return {
    async fetch(url, init = {}) {
      const target = assertFetchableUrl(url)
      const signals = [AbortSignal.timeout(timeLimitMs), ...(init.signal ? [init.signal] : [])]
      const toProblem = (error: unknown) => toOutgoingProblem(error, target.host, seconds)
      try {
        const response = await (await getAgent()).fetch(target, {
          ...init,
          redirect: follow && !returnRedirects ? 'follow' : 'manual',
          signal: AbortSignal.any(signals),
        })
        if (isRedirect(response) && !follow && !returnRedirects) {
          await response.body?.cancel()
          throw redirectProblem(target.host)
        }
        return await limitBodySize(response, { maxBytes, host: target.host, toProblem })
      } catch (error) {
        throw toProblem(error)
      }
    },

    async get(url, headers, signal) {
      const target = assertFetchableUrl(url)
      const toProblem = (error: unknown) => toOutgoingProblem(error, target.host, seconds)
      try {
        const { body, ...response } = await (await getAgent()).get(target, headers, signal)
        const cancel = () => void body.on('error', () => {}).destroy()
        if (isRedirect(response)) {
          cancel()
          throw redirectProblem(target.host)
        }
        return { ...response, chunks: readBody(body, toProblem), cancel }
      } catch (error) {
        throw toProblem(error)
      }
    },

    async check(url) {
      const { protocol, hostname, port, host } = assertFetchableUrl(url)
      const { promise: timeout, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => reject(Object.assign(new Error(), { name: 'TimeoutError' })), timeLimitMs)
      try {
        await Promise.race([
          resolveAllowed(protocol, hostname, Number(port || (protocol === 'https:' ? 443 : 80))),
          timeout,
        ])
      } catch (error) {
        throw toOutgoingProblem(error, host, seconds)
      } finally {
        clearTimeout(timer)
      }
    },

    close: async () => (await agent)?.close(),
  }
}

function assertFetchableUrl(address: string | URL): URL {
  if (!URL.canParse(String(address)))
    throw createAddressRefusal('The address is incomplete. It must begin with https://.')
  const url = new URL(address)
  if (!['https:', 'http:'].includes(url.protocol))
    throw createAddressRefusal(`${url.protocol}// is not supported: use https.`)
  if (url.username || url.password) throw createAddressRefusal('The address must not contain a username or password.')
  return url
}

const isRedirect = ({ status, headers }: { status: number; headers: ResponseHeaders }): boolean =>
  status >= 300 && status < 400 && headers.get('location') !== null

const redirectProblem = (host: string): OutgoingProblem =>
  new OutgoingProblem(`${host} redirects to another address, and Sluice does not follow the redirect.`, {
    code: 'REDIRECTED',
  })

/** Yields the chunks of a body. Converts its errors with `toProblem`. */
async function* readBody(
  body: AsyncIterable<Uint8Array>,
  toProblem: (error: unknown) => OutgoingProblem,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* body
  } catch (error) {
    throw toProblem(error)
  }
}

interface BodyLimit {
  maxBytes: number
  host: string
  /** Converts an error of the stream to a problem. */
  toProblem(error: unknown): OutgoingProblem
}

/**
 * Returns the same response, with a body that fails with a problem after `maxBytes`. Throws this problem at once if the
 * header Content-Length announces more.
 */
async function limitBodySize(response: Response, { maxBytes, host, toProblem }: BodyLimit): Promise<Response> {
  const { status, statusText, headers, body } = response
  const tooLarge = () =>
    new OutgoingProblem(`The response of ${host} has more than the ${maxBytes} bytes that are allowed.`, {
      code: 'ANSWER_TOO_LARGE',
    })
  if (Number(headers.get('content-length') ?? 0) > maxBytes) {
    await body?.cancel()
    throw tooLarge()
  }
  const limited = body && limitStream(body, maxBytes, tooLarge, toProblem)
  return new Response(limited, { status, statusText, headers: [...headers] })
}

/** Returns a stream of the same bytes that fails with the error `tooLarge` after `maxBytes`. */
function limitStream(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  tooLarge: () => OutgoingProblem,
  toProblem: BodyLimit['toProblem'],
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let receivedBytes = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw toProblem(error)
      })
      if (done) return controller.close()
      receivedBytes += value.byteLength
      if (receivedBytes <= maxBytes) return controller.enqueue(value)
      controller.error(tooLarge())
      await reader.cancel()
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
