import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { specialAddress, type OutgoingAllowed } from './guarded-fetch-addresses.ts'
import { strangersLookup, type Resolved } from './guarded-fetch-lookup.ts'
import { OutgoingProblem, refused } from './guarded-fetch-problem.ts'

export interface OutgoingAddressesOptions {
  allowed: OutgoingAllowed
  /** Milliseconds for one name. */
  timeLimit?: number
  /** All addresses of a name. When absent, the system says which an operator's host has, and DNS which any other has. */
  lookup?: (host: string) => Promise<Resolved[]>
}

/** Where a host is that somebody typed. */
export interface OutgoingAddresses {
  /** What may be connected to, and nothing else: a name that is looked up again may have changed its mind. */
  addresses: Resolved[]
  /** The operator allows all of them by name or range. */
  named: boolean
}

/**
 * The addresses of a host that somebody typed. Public ones, and those that the operator allows; throws `OutgoingProblem` for
 * any other, and the system's errors (`ENOTFOUND` …) for names without one.
 */
export function outgoingAddresses({ allowed, timeLimit = 5_000, lookup }: OutgoingAddressesOptions) {
  const ofOperator = lookup ?? ((host: string) => systemLookup(host, { all: true }))
  const ofAnybody = lookup ?? strangersLookup({ timeLimit })

  return async (hostname: string, port: number): Promise<OutgoingAddresses> => {
    const host = hostname.replace(/^\[(.+)\]$/, '$1')
    const addresses = literal(host) ?? (await (allowed.names(host, port) ? ofOperator : ofAnybody)(host))
    if (addresses.length === 0) throw new OutgoingProblem(`The name ${host} has no address.`, { code: 'HOST_UNKNOWN' })
    if (allowed.names(host, port)) return { addresses, named: true }
    const open = addresses.filter(({ address }) => !allowed.holds(address))
    const special = open.map(({ address }) => specialAddress(address)).find((reason) => reason !== undefined)
    if (special)
      throw refused(
        `${host} leads to an address that ${special}. Only public ones are asked; the operator of this installation can allow others (OUTGOING_ALLOWED).`,
      )
    return { addresses, named: open.length === 0 }
  }
}

/** The address that a host is, where no name has to be looked up: this machine is by RFC 6761, whatever DNS says. */
function literal(host: string): Resolved[] | undefined {
  const family = isIP(host)
  if (family) return [{ address: host, family }]
  return /(^|\.)localhost\.?$/i.test(host) ? [{ address: '127.0.0.1', family: 4 }] : undefined
}
