import { Agent, buildConnector, fetch as undiciFetch, type RequestInit as UndiciInit } from 'undici'
import { capped } from './guarded-fetch-body.ts'
import type { OutgoingAllowed } from './guarded-fetch-addresses.ts'
import type { Resolved } from './guarded-fetch-lookup.ts'
import { OutgoingProblem, outgoingProblem, refused } from './guarded-fetch-problem.ts'
import { outgoingAddresses } from './outgoing-addresses.ts'

export interface GuardedFetchOptions {
  allowed: OutgoingAllowed
  /** Milliseconds for the whole exchange, the body included. */
  timeLimit?: number
  /** Bytes of a body, after decompression. */
  maxBytes?: number
  /** Follow redirects, each looked at like the first address? Else an answer that redirects is a problem. */
  follow?: boolean
  /** All addresses of a name. When absent, the system says which an operator's host has, and DNS which any other has. */
  lookup?: (host: string) => Promise<Resolved[]>
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
  follow = false,
  lookup,
}: GuardedFetchOptions): GuardedFetch {
  const seconds = Math.ceil(timeLimit / 1000)
  const look = outgoingAddresses({ allowed, timeLimit: Math.min(timeLimit, 5_000), ...(lookup && { lookup }) })

  /** The addresses to connect to. Throws a refusal when one of them is out of bounds. */
  async function admitted(protocol: string, hostname: string, port: number): Promise<Resolved[]> {
    const { addresses, named } = await look(hostname, port)
    if (protocol !== 'https:' && !named)
      throw refused(`${hostname.replace(/^\[(.+)\]$/, '$1')} is asked by https only.`)
    return addresses
  }

  async function connect(options: buildConnector.Options, callback: buildConnector.Callback): Promise<void> {
    const port = Number(options.port || (options.protocol === 'https:' ? 443 : 80))
    let addresses: Resolved[]
    try {
      addresses = await admitted(options.protocol, options.hostname, port)
    } catch (error) {
      callback(error as Error, null)
      return
    }
    connectTo(addresses, timeLimit)(options, callback)
  }

  const agent = new Agent({
    allowH2: false,
    headersTimeout: timeLimit,
    bodyTimeout: timeLimit,
    connect: (options, callback) => void connect(options, callback),
  })

  return {
    async fetch(url, init = {}) {
      const target = demandUrl(url)
      const signals = [AbortSignal.timeout(timeLimit), ...(init.signal ? [init.signal] : [])]
      const problem = (error: unknown) => outgoingProblem(error, target.host, seconds)
      try {
        const response = await undiciFetch(target, {
          ...(init as UndiciInit),
          headers: [...new Headers(init.headers)],
          redirect: follow ? 'follow' : 'manual',
          signal: AbortSignal.any(signals),
          dispatcher: agent,
        })
        if (!follow && response.status >= 300 && response.status < 400 && response.headers.has('location')) {
          await response.body?.cancel()
          throw new OutgoingProblem(`${target.host} redirects to another address, which is not followed.`, {
            code: 'REDIRECTED',
          })
        }
        return await capped(response as unknown as Response, { maxBytes, host: target.host, problem })
      } catch (error) {
        throw problem(error)
      }
    },

    async check(url) {
      const { protocol, hostname, port, host } = demandUrl(url)
      const { promise, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => reject(Object.assign(new Error(), { name: 'TimeoutError' })), timeLimit)
      try {
        await Promise.race([admitted(protocol, hostname, Number(port || (protocol === 'https:' ? 443 : 80))), promise])
      } catch (error) {
        throw outgoingProblem(error, host, seconds)
      } finally {
        clearTimeout(timer)
      }
    },

    close: () => agent.destroy(),
  }
}

/** A connector that knows no other addresses than these. */
const connectTo = (addresses: readonly Resolved[], timeout: number) =>
  buildConnector({
    timeout,
    lookup: (_host, options, callback) =>
      options.all ? callback(null, [...addresses]) : callback(null, addresses[0]!.address, addresses[0]!.family),
  })

function demandUrl(given: string | URL): URL {
  if (!URL.canParse(String(given))) throw refused('This is not a complete address: it begins with https://.')
  const url = new URL(given)
  if (!['https:', 'http:'].includes(url.protocol)) throw refused(`${url.protocol}// is not asked, only https.`)
  if (url.username || url.password) throw refused('An address holds no username and no password.')
  return url
}
