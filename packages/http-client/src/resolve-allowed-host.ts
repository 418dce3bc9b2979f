import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type OutgoingAllowList, findNonPublicReason } from './outgoing-allow-list.ts'
import { OutgoingProblem, createAddressRefusal } from './ssrf-safe-fetch-problem.ts'
import { promises as dns } from 'node:dns'
import { readFile } from 'node:fs/promises'
import { limitConcurrency, SemaphoreBusy } from '@sluice/process'

export interface HostResolverOptions {
  allowed: OutgoingAllowList
  /** The time limit for resolving a name, in milliseconds. */
  timeLimitMs?: number
  /**
   * Returns all addresses of a host name. Default: the operating system's lookup for names that the operator allows,
   * `createLimitedDnsLookup` for all others.
   */
  lookup?: (host: string) => Promise<ResolvedAddress[]>
}

/** The resolved addresses of a host that a user entered. */
export interface ResolvedHost {
  /** Connect only to these addresses, because a second lookup may return others. */
  addresses: ResolvedAddress[]
  /** Whether the operator allows all of them by name or range. */
  isInternalName: boolean
}

/**
 * Returns a function that resolves a host that a user entered. A host that the operator allows by name may have any
 * address. The addresses of all other hosts must be public or in an allowed range; otherwise it throws
 * `OutgoingProblem`. For unknown names it throws the system's errors, such as `ENOTFOUND`.
 */
export function createHostResolver({ allowed, timeLimitMs = 5_000, lookup }: HostResolverOptions) {
  const lookUpAllowedName = lookup ?? ((host: string) => systemLookup(host, { all: true }))
  const lookUpOtherName = lookup ?? createLimitedDnsLookup({ timeLimitMs })

  return async (hostname: string, port: number): Promise<ResolvedHost> => {
    const host = hostname.replace(/^\[(.+)\]$/, '$1')
    const isAllowedByName = allowed.allowsHost(host, port)
    const lookUp = isAllowedByName ? lookUpAllowedName : lookUpOtherName
    const addresses = literalAddress(host) ?? (await lookUp(host))
    if (addresses.length === 0)
      throw new OutgoingProblem(`The name ${host} has no address. Check its spelling.`, { code: 'HOST_UNKNOWN' })
    if (isAllowedByName) return { addresses, isInternalName: true }
    const addressesOutsideRanges = addresses.filter(({ address }) => !allowed.allowsAddress(address))
    assertPublic(host, addressesOutsideRanges)
    return { addresses, isInternalName: addressesOutsideRanges.length === 0 }
  }
}

/** Throws `OutgoingProblem` if one of the host's addresses is not public. */
function assertPublic(host: string, addresses: readonly ResolvedAddress[]): void {
  for (const { address } of addresses) {
    const reason = findNonPublicReason(address)
    if (reason !== undefined)
      throw createAddressRefusal(
        `${host} leads to an address that ${reason}. Requests go to public addresses only; the operator of this installation can allow others (OUTGOING_ALLOWED).`,
      )
  }
}

/**
 * Returns the address of an IP literal or of localhost (RFC 6761), which need no lookup. Returns undefined for other
 * names.
 */
function literalAddress(host: string): ResolvedAddress[] | undefined {
  const family = isIP(host)
  if (family) return [{ address: host, family }]
  return /(^|\.)localhost\.?$/i.test(host) ? [{ address: '127.0.0.1', family: 4 }] : undefined
}

export interface ResolvedAddress {
  address: string
  family: number
}

interface DnsLookupOptions {
  /** The DNS servers as `address:port`. Default: the system's servers. */
  servers?: readonly string[]
  /** The time limit for resolving a name, in milliseconds. */
  timeLimitMs?: number
  /** The maximum number of concurrent lookups. Eight times as many may wait. */
  maxConcurrent?: number
}

/** The system's hosts file, which resolves names without DNS. */
const hostsFile = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/**
 * Returns a DNS lookup for host names that users entered, with a time limit and a concurrency limit. The system's
 * lookup would block a thread of the pool that also hashes passwords until name servers respond. Throws errors with the
 * codes of the system's lookup.
 */
export function createLimitedDnsLookup({ servers, timeLimitMs = 5_000, maxConcurrent = 16 }: DnsLookupOptions = {}) {
  const runLimited = limitConcurrency({
    maxRunning: maxConcurrent,
    maxWaiting: maxConcurrent * 8,
    title: 'Too many names are being looked up.',
  })
  return async (host: string): Promise<ResolvedAddress[]> => {
    const addresses = await readHostsFile(host)
    if (addresses.length > 0) return addresses
    try {
      return await runLimited(() => queryDns(host, servers, timeLimitMs))
    } catch (error) {
      if (!(error instanceof SemaphoreBusy)) throw error
      throw new OutgoingProblem('Too many names are being resolved at the same time. Try again in a few seconds.')
    }
  }
}

/** DNS error codes that mean that a name has no addresses. */
const unknownNameCodes = ['ENOTFOUND', 'ENODATA', 'EBADNAME']

/**
 * Returns the IPv4 and IPv6 addresses of a host. Throws an error with code ENOTFOUND if it has none, and EAI_AGAIN if
 * the servers failed to respond.
 */
async function queryDns(
  host: string,
  servers: readonly string[] | undefined,
  timeLimitMs: number,
): Promise<ResolvedAddress[]> {
  const resolver = new dns.Resolver({ timeout: Math.ceil(timeLimitMs / 2), tries: 1 })
  if (servers) resolver.setServers(servers)
  const timer = setTimeout(() => resolver.cancel(), timeLimitMs)
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  clearTimeout(timer)
  const [ipv4, ipv6] = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  const addresses = [
    ...ipv4!.map((address) => ({ address, family: 4 })),
    ...ipv6!.map((address) => ({ address, family: 6 })),
  ]
  if (addresses.length > 0) return addresses
  const errorCodes = answers.map((answer) => (answer.status === 'rejected' ? String(answer.reason.code) : 'ENODATA'))
  const isUnknownName = errorCodes.every((code) => unknownNameCodes.includes(code))
  throw Object.assign(new Error(`looking up ${host}: ${errorCodes.join(', ')}`), {
    code: isUnknownName ? 'ENOTFOUND' : 'EAI_AGAIN',
  })
}

/** Returns the addresses of a host from the system's hosts file, or an empty list. */
async function readHostsFile(host: string): Promise<ResolvedAddress[]> {
  const hostName = host.toLowerCase().replace(/\.$/, '')
  const text = await readFile(hostsFile, 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    return names.some((name) => name.toLowerCase() === hostName)
      ? [{ address, family: address.includes(':') ? 6 : 4 }]
      : []
  })
}
