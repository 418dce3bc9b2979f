import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type OutgoingAllowed, nonPublicReason } from './guarded-fetch-addresses.ts'
import { OutgoingProblem, addressRefused } from './guarded-fetch-problem.ts'
import { promises as dns } from 'node:dns'
import { readFile } from 'node:fs/promises'
import { fewAtOnce, SemaphoreBusy } from '@sluice/process'

export interface OutgoingAddressesOptions {
  allowed: OutgoingAllowed
  /** Milliseconds for one name. */
  timeLimit?: number
  /** All addresses of a name. When absent, the system says which an operator's host has, and DNS which any other has. */
  lookup?: (host: string) => Promise<ResolvedAddress[]>
}

/** Where a host is that somebody typed. */
export interface OutgoingAddresses {
  /** What may be connected to, and nothing else: a name that is looked up again may have changed its mind. */
  addresses: ResolvedAddress[]
  /** The operator allows all of them by name or range. */
  named: boolean
}

/**
 * The addresses of a host that somebody typed. Public ones, and those that the operator allows; throws `OutgoingProblem` for
 * any other, and the system's errors (`ENOTFOUND` …) for names without one.
 */
export function outgoingAddresses({ allowed, timeLimit = 5_000, lookup }: OutgoingAddressesOptions) {
  const lookUpOperatorHost = lookup ?? ((host: string) => systemLookup(host, { all: true }))
  const lookUpUserHost = lookup ?? limitedDnsLookup({ timeLimit })

  return async (hostname: string, port: number): Promise<OutgoingAddresses> => {
    const host = hostname.replace(/^\[(.+)\]$/, '$1')
    const addresses =
      literalAddress(host) ?? (await (allowed.names(host, port) ? lookUpOperatorHost : lookUpUserHost)(host))
    if (addresses.length === 0) throw new OutgoingProblem(`The name ${host} has no address.`, { code: 'HOST_UNKNOWN' })
    if (allowed.names(host, port)) return { addresses, named: true }
    const open = addresses.filter(({ address }) => !allowed.holds(address))
    const special = open.map(({ address }) => nonPublicReason(address)).find((reason) => reason !== undefined)
    if (special)
      throw addressRefused(
        `${host} leads to an address that ${special}. Only public ones are asked; the operator of this installation can allow others (OUTGOING_ALLOWED).`,
      )
    return { addresses, named: open.length === 0 }
  }
}

/** The address that a host is, where no name has to be looked up: this machine is by RFC 6761, whatever DNS says. */
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
  /** `address:port` of the servers to ask; the system's when absent. */
  servers?: readonly string[]
  /** Milliseconds for one name. */
  timeLimit?: number
  /** Names at once. As many again may wait eight times over. */
  atOnce?: number
}

/** Where the system keeps names that no server is asked for. */
const hostsFile = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/**
 * Looks up names that anybody may have typed. The system's own look-up would block one of the few threads that passwords are
 * hashed on, for as long as a name's servers please; this one gives up, and asks for few names at once. Throws errors with
 * the codes of the system's.
 */
export function limitedDnsLookup({ servers, timeLimit = 5_000, atOnce = 16 }: DnsLookupOptions = {}) {
  const limited = fewAtOnce({ atOnce, waiting: atOnce * 8, title: 'Too many names are being looked up.' })

  const query = async (host: string): Promise<ResolvedAddress[]> => {
    const resolver = new dns.Resolver({ timeout: Math.ceil(timeLimit / 2), tries: 1 })
    if (servers) resolver.setServers(servers)
    const timer = setTimeout(() => resolver.cancel(), timeLimit)
    try {
      const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      const found = answers.flatMap((answer, index) =>
        answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
      )
      if (found.length > 0) return found
      const codes = answers.map((answer) => answer.status === 'rejected' && String(answer.reason.code))
      const none = codes.every((code) => code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME')
      throw Object.assign(new Error(`looking up ${host}: ${codes.join(', ')}`), {
        code: none ? 'ENOTFOUND' : 'EAI_AGAIN',
      })
    } finally {
      clearTimeout(timer)
    }
  }

  return async (host: string): Promise<ResolvedAddress[]> => {
    const known = await fromHostsFile(host)
    if (known.length > 0) return known
    try {
      return await limited(() => query(host))
    } catch (error) {
      if (!(error instanceof SemaphoreBusy)) throw error
      throw new OutgoingProblem('Too many names are being looked up just now: try again in a few seconds.')
    }
  }
}

async function fromHostsFile(host: string): Promise<ResolvedAddress[]> {
  const wanted = host.toLowerCase().replace(/\.$/, '')
  const text = await readFile(hostsFile, 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    return names.some((name) => name.toLowerCase() === wanted)
      ? [{ address, family: address.includes(':') ? 6 : 4 }]
      : []
  })
}
