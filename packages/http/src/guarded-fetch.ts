import type { GuardedAgent } from './guarded-fetch-agent.ts'
import type { OutgoingAllowed } from './guarded-fetch-addresses.ts'
import type { ResolvedAddress } from './outgoing-addresses.ts'
import { OutgoingProblem, outgoingProblem, addressRefused } from './guarded-fetch-problem.ts'
import { outgoingAddresses } from './outgoing-addresses.ts'

export interface GuardedFetchOptions {
  allowed: OutgoingAllowed
  /** Milliseconds for the whole exchange, the body included. */
  timeLimit?: number
  /** Bytes of a body, after decompression. */
  maxBytes?: number
  /** Milliseconds to connect in; `timeLimit` when absent. */
  connectLimit?: number
  /** Follow redirects, each looked at like the first address? Else an answer that redirects is a problem. */
  follow?: boolean
  /** Whoever asks decides about redirects: an answer that redirects is handed on as it is. Goes before `follow`. */
  handOnRedirects?: boolean
  /** All addresses of a name. When absent, the system says which an operator's host has, and DNS which any other has. */
  lookup?: (host: string) => Promise<ResolvedAddress[]>
}

/** Requests to addresses that somebody typed. Everything that goes wrong is an `OutgoingProblem`. */
export interface GuardedFetch {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
  /** May this be asked at all? Looks its name up, and connects to nothing. */
  check(url: string | URL): Promise<void>
  close(): Promise<void>
}

/**
 * One fetch for addresses that users typed. Public addresses by https; an operator's allow-list opens others. The question is
 * asked of the very addresses that are connected to, on every new connection, so a name that changes its mind gains nothing.
 */
export function guardedFetch({
  allowed,
  timeLimit = 10_000,
  maxBytes = 1_048_576,
  connectLimit = timeLimit,
  follow = false,
  handOnRedirects = false,
  lookup,
}: GuardedFetchOptions): GuardedFetch {
  const seconds = Math.ceil(timeLimit / 1000)
  const resolveHost = outgoingAddresses({ allowed, timeLimit: Math.min(timeLimit, 5_000), ...(lookup && { lookup }) })

  /** The addresses to connect to. Throws a refusal when one of them is out of bounds. */
  async function resolveAllowed(protocol: string, hostname: string, port: number): Promise<ResolvedAddress[]> {
    const { addresses, named } = await resolveHost(hostname, port)
    if (protocol !== 'https:' && !named)
      throw addressRefused(`${hostname.replace(/^\[(.+)\]$/, '$1')} is asked by https only.`)
    return addresses
  }

  // The client's code is in memory from the first request on: many processes never make one.
  let opened: Promise<GuardedAgent> | undefined
  const limits = { timeLimit, connectLimit }
  const agent = () =>
    (opened ??= import('./guarded-fetch-agent.ts').then(({ guardedAgent }) => guardedAgent(resolveAllowed, limits)))

  return {
    async fetch(url, init = {}) {
      const target = assertFetchableUrl(url)
      const signals = [AbortSignal.timeout(timeLimit), ...(init.signal ? [init.signal] : [])]
      const problem = (error: unknown) => outgoingProblem(error, target.host, seconds)
      try {
        const response = await (await agent()).fetch(target, {
          ...init,
          redirect: follow && !handOnRedirects ? 'follow' : 'manual',
          signal: AbortSignal.any(signals),
        })
        const redirects = response.status >= 300 && response.status < 400 && response.headers.has('location')
        if (redirects && !follow && !handOnRedirects) {
          await response.body?.cancel()
          throw new OutgoingProblem(`${target.host} redirects to another address, which is not followed.`, {
            code: 'REDIRECTED',
          })
        }
        return await limitBodySize(response, { maxBytes, host: target.host, problem })
      } catch (error) {
        throw problem(error)
      }
    },

    async check(url) {
      const { protocol, hostname, port, host } = assertFetchableUrl(url)
      const { promise, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => reject(Object.assign(new Error(), { name: 'TimeoutError' })), timeLimit)
      try {
        await Promise.race([
          resolveAllowed(protocol, hostname, Number(port || (protocol === 'https:' ? 443 : 80))),
          promise,
        ])
      } catch (error) {
        throw outgoingProblem(error, host, seconds)
      } finally {
        clearTimeout(timer)
      }
    },

    close: async () => (await opened)?.close(),
  }
}

function assertFetchableUrl(given: string | URL): URL {
  if (!URL.canParse(String(given))) throw addressRefused('This is not a complete address: it begins with https://.')
  const url = new URL(given)
  if (!['https:', 'http:'].includes(url.protocol)) throw addressRefused(`${url.protocol}// is not asked, only https.`)
  if (url.username || url.password) throw addressRefused('An address holds no username and no password.')
  return url
}

interface BodyLimit {
  maxBytes: number
  host: string
  /** What an error of the stream is called. */
  problem(error: unknown): OutgoingProblem
}

/** The same response, whose body breaks off with a problem once it grows beyond `maxBytes`. */
async function limitBodySize(response: Response, { maxBytes, host, problem }: BodyLimit): Promise<Response> {
  const { status, statusText, headers, body } = response
  const tooLarge = () =>
    new OutgoingProblem(`${host} answers more than the ${maxBytes} bytes that are read.`, { code: 'ANSWER_TOO_LARGE' })
  if (Number(headers.get('content-length') ?? 0) > maxBytes) {
    await body?.cancel()
    throw tooLarge()
  }
  const limited = body && stream(body, maxBytes, tooLarge, problem)
  return new Response(limited, { status, statusText, headers: [...headers] })
}

function stream(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  tooLarge: () => OutgoingProblem,
  problem: BodyLimit['problem'],
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let read = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw problem(error)
      })
      if (done) return controller.close()
      read += value.byteLength
      if (read <= maxBytes) return controller.enqueue(value)
      controller.error(tooLarge())
      await reader.cancel()
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
