import ipaddr from 'ipaddr.js'
import { listSetting, type Setting } from '@sluice/process'

type ParsedAddress = ReturnType<typeof ipaddr.parse>

/** Hosts and addresses in private networks that the operator allows for outgoing requests. */
export interface OutgoingAllowList {
  /** The entries as the operator wrote them. A thread receives these, because functions cannot be sent to it. */
  readonly entries: readonly string[]
  /** Returns whether the list names this host, with this port or without a port. Such a host may have any address and use plain http. */
  allowsHost(host: string, port: number): boolean
  /** Returns whether the address is in a listed range. */
  allowsAddress(address: string): boolean
}

/**
 * Azure's WireServer. Its address is public, but belongs to the cloud's internal infrastructure, so it is not allowed.
 */
const azureWireServer = ipaddr.parseCIDR('168.63.129.16/32')
/** The global unicast range. All other IPv6 addresses are special or unassigned. */
const globalUnicast = ipaddr.parseCIDR('2000::/3')
const nat64 = ipaddr.parseCIDR('64:ff9b::/96')
const documentationRange = ipaddr.parseCIDR('3fff::/20')

const rangeReasons: Record<string, string> = {
  unspecified: 'is that of the Sluice server itself',
  loopback: 'is that of the Sluice server itself',
  linkLocal: 'is link-local; clouds serve the credentials of machines at such addresses',
  multicast: 'is for multicast',
  broadcast: 'is for broadcast',
}

/**
 * Returns why connecting to an address is forbidden, as the words after "an address that", or undefined for a public
 * address. An IPv4 address inside IPv6 (mapped, NAT64) counts as the IPv4 address. 6to4 and Teredo are always rejected.
 */
export function findNonPublicReason(text: string): string | undefined {
  if (!ipaddr.isValid(text)) return 'cannot be read'
  const address = unwrapIPv4(ipaddr.parse(text))
  if (inRange(address, azureWireServer)) return 'belongs to an internal service of the cloud'
  const isGlobal = address.kind() === 'ipv4' || inRange(address, globalUnicast)
  const range = address.range()
  if (range === 'unicast' && isGlobal && !inRange(address, documentationRange)) return undefined
  return rangeReasons[range] ?? 'is private or reserved'
}

/** Returns the IPv4 address inside a mapped or NAT64 address, otherwise the address itself. */
function unwrapIPv4(address: ParsedAddress): ParsedAddress {
  if (!(address instanceof ipaddr.IPv6)) return address
  if (address.isIPv4MappedAddress()) return address.toIPv4Address()
  return inRange(address, nat64) ? ipaddr.fromByteArray(address.toByteArray().slice(12)) : address
}

const inRange = (address: ParsedAddress, [range, bits]: [ParsedAddress, number]): boolean =>
  address.kind() === range.kind() && address.match(range, bits)

/**
 * Returns the definition of an environment setting: a comma-separated list of hosts (`idp.internal`,
 * `idp.internal:8443`), addresses (`10.20.0.7`) and ranges (`10.20.0.0/16`, `fd00::/8`). Outgoing requests may reach
 * them, also by plain http, although they are not public. An entry with a port (`10.20.0.7:8443`) allows only that
 * port.
 */
export const outgoingAllowed = (): Setting<OutgoingAllowList> => ({
  fallback: parseAllowList([]),
  parse: (text) => parseAllowList(listSetting().parse(text)),
})

/** Parses the entries of the setting. An entry that is not an address or range must be a host; otherwise throws. */
function parseAllowList(entries: readonly string[]): OutgoingAllowList {
  const ranges: [ParsedAddress, number][] = []
  const hosts = new Set<string>()
  for (const entry of entries) {
    const range = parseRange(entry)
    if (range) ranges.push(range)
    else hosts.add(parseHost(entry))
  }
  return {
    entries,
    allowsHost: (host, port) => hosts.has(normalizeHost(host)) || hosts.has(`${normalizeHost(host)}:${port}`),
    allowsAddress(text) {
      if (!ipaddr.isValid(text)) return false
      const address = unwrapIPv4(ipaddr.parse(text))
      return ranges.some((range) => inRange(address, range))
    },
  }
}

/** Returns the range of an entry, such as `10.20.0.0/16` or a single address; undefined for a host. */
function parseRange(entry: string): [ParsedAddress, number] | undefined {
  const bare = entry.replace(/^\[(.+)\]$/, '$1')
  if (ipaddr.isValidCIDR(bare)) return ipaddr.parseCIDR(bare)
  // ipaddr.js also accepts `10.1` and `7`, which are more likely typing mistakes.
  if (!ipaddr.IPv4.isValidFourPartDecimal(bare) && !ipaddr.IPv6.isValid(bare)) return undefined
  const address = ipaddr.parse(bare)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/**
 * Returns the normalised host of an entry, with its port if the entry has one. Also accepts an address with a port,
 * such as `127.0.0.1:5201` or `[::1]:5201`. Throws for any other text.
 */
function parseHost(entry: string): string {
  const addressWithPort = /^(?:\[(?<ipv6>.+)\]|(?<ipv4>[\d.]+)):(?<port>\d{1,5})$/.exec(entry)?.groups
  const { ipv4, ipv6, port } = addressWithPort ?? {}
  if (ipv4 && ipaddr.IPv4.isValidFourPartDecimal(ipv4)) return `${ipv4}:${port}`
  if (ipv6 && ipaddr.IPv6.isValid(ipv6)) return `${ipaddr.parse(ipv6).toString()}:${port}`
  const host = entry.toLowerCase()
  const hasLetter = /[a-z]/.test(host)
  const isHostName = hasLetter && /^[\w-]+(\.[\w-]+)*(:\d{1,5})?$/.test(host)
  if (!isHostName)
    throw new Error(
      `must contain hosts and ranges, separated by commas, such as idp.internal:8443 or 10.20.0.0/16, not "${entry}"`,
    )
  return host
}

const normalizeHost = (host: string): string => host.toLowerCase().replace(/\.$/, '')
