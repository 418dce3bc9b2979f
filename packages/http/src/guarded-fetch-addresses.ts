import ipaddr from 'ipaddr.js'
import { list, type Setting } from '@sluice/process'

type ParsedAddress = ReturnType<typeof ipaddr.parse>

/** What an operator lets outgoing requests reach besides public addresses. */
export interface OutgoingAllowed {
  /** Was this host named, with this port or without one? It may be anywhere, and plain http. */
  names(host: string, port: number): boolean
  /** Is this address in a named range? */
  holds(address: string): boolean
}

/** Answers for a cloud's own machines and means no customer, although it is a public address: Azure's WireServer. */
const azureWireServer = ipaddr.parseCIDR('168.63.129.16/32')
/** Everything that is given out to networks; the rest of IPv6 is special or empty. */
const globalUnicast = ipaddr.parseCIDR('2000::/3')
const nat64 = ipaddr.parseCIDR('64:ff9b::/96')
const documentation = ipaddr.parseCIDR('3fff::/20')

const rangeReasons: Record<string, string> = {
  unspecified: 'means this machine itself',
  loopback: 'means this machine itself',
  linkLocal: 'is link-local, where clouds keep the credentials of their machines',
  multicast: 'is for multicast',
  broadcast: 'is for broadcast',
}

/**
 * Why an address is not to be connected to, as what follows "an address that"; undefined for public ones. IPv4 inside IPv6
 * (mapped, NAT64) counts as the IPv4 address it leads to; 6to4 and Teredo, which lead to any, are refused whole.
 */
export function nonPublicReason(text: string): string | undefined {
  if (!ipaddr.isValid(text)) return 'cannot be read'
  const address = unwrapIPv4(ipaddr.parse(text))
  if (inRange(address, azureWireServer)) return 'belongs to the cloud’s own machinery'
  const isGlobal = address.kind() === 'ipv4' || inRange(address, globalUnicast)
  const range = address.range()
  if (range === 'unicast' && isGlobal && !inRange(address, documentation)) return undefined
  return rangeReasons[range] ?? 'is private or reserved'
}

/** The IPv4 address that is meant, where it is written as IPv6. */
function unwrapIPv4(address: ParsedAddress): ParsedAddress {
  if (!(address instanceof ipaddr.IPv6)) return address
  if (address.isIPv4MappedAddress()) return address.toIPv4Address()
  return inRange(address, nat64) ? ipaddr.fromByteArray(address.toByteArray().slice(12)) : address
}

const inRange = (address: ParsedAddress, [range, bits]: [ParsedAddress, number]): boolean =>
  address.kind() === range.kind() && address.match(range, bits)

/**
 * A setting: hosts (`idp.internal`, `idp.internal:8443`) and ranges (`10.20.0.0/16`, `fd00::/8`) with commas between that
 * outgoing requests may reach although they are not public, by http as well. A single address is a range of one, and with a
 * port (`10.20.0.7:8443`) that port of it.
 */
export const outgoingAllowed = (): Setting<OutgoingAllowed> => ({
  fallback: parseAllowList([]),
  parse: (given) => parseAllowList(list().parse(given)),
})

function parseAllowList(entries: readonly string[]): OutgoingAllowed {
  const ranges = entries.map(rangeOf)
  const hosts = new Set(entries.filter((_entry, index) => ranges[index] === undefined).map(hostOf))
  const known = ranges.filter((range) => range !== undefined)
  return {
    names: (host, port) => hosts.has(withoutDot(host)) || hosts.has(`${withoutDot(host)}:${port}`),
    holds: (text) => ipaddr.isValid(text) && known.some((range) => inRange(unwrapIPv4(ipaddr.parse(text)), range)),
  }
}

function rangeOf(entry: string): [ParsedAddress, number] | undefined {
  const bare = entry.replace(/^\[(.+)\]$/, '$1')
  if (ipaddr.isValidCIDR(bare)) return ipaddr.parseCIDR(bare)
  // `10.1` and `7` are addresses to ipaddr.js too, and typing mistakes to people.
  if (!ipaddr.IPv4.isValidFourPartDecimal(bare) && !ipaddr.IPv6.isValid(bare)) return undefined
  const address = ipaddr.parse(bare)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** With a port, an address is a host as well: that port of it, as `127.0.0.1:5201` or `[::1]:5201`. */
function hostOf(entry: string): string {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([\d.]+)):(\d{1,5})$/.exec(entry) ?? []
  if (plain && ipaddr.IPv4.isValidFourPartDecimal(plain)) return `${plain}:${port}`
  if (bracketed && ipaddr.IPv6.isValid(bracketed)) return `${ipaddr.parse(bracketed).toString()}:${port}`
  const host = entry.toLowerCase()
  if (!/^(?=.*[a-z])[\w-]+(\.[\w-]+)*(:\d{1,5})?$/.test(host))
    throw new Error(
      `must hold hosts and ranges with commas between, such as idp.internal:8443 or 10.20.0.0/16, not "${entry}"`,
    )
  return host
}

const withoutDot = (host: string): string => host.toLowerCase().replace(/\.$/, '')
