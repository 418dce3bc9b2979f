import { isIPv4, isIPv6, SocketAddress } from 'node:net'

const loopbackHostPattern = /^(localhost|127(\.\d+){3}|::1)$/

/** True if a host, without brackets, is a loopback name or address. */
export const isLoopback = (host: string): boolean => loopbackHostPattern.test(host)

/**
 * Returns the four numbers of an IPv4 address, or the eight groups of an IPv6 address without leading zeros. For an
 * IPv4-mapped IPv6 address, such as `::ffff:192.0.2.1` or `::ffff:c000:201`, returns the IPv4 address. Returns
 * undefined for any other text.
 */
export function splitIpAddress(
  address: string,
): { version: 4; numbers: string[] } | { version: 6; groups: string[] } | undefined {
  if (isIPv4(address)) return { version: 4, numbers: address.split('.') }
  if (!isIPv6(address)) return undefined
  const withoutZone = address.split('%')[0]!
  const { address: canonicalAddress } = new SocketAddress({ address: withoutZone, family: 'ipv6' })
  const mappedIPv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(canonicalAddress)?.[1]
  if (mappedIPv4 !== undefined) return { version: 4, numbers: mappedIPv4.split('.') }
  return { version: 6, groups: expandGroups(canonicalAddress) }
}

/** Returns the eight groups of an IPv6 address. Replaces a double colon by the zeros that it stands for. */
function expandGroups(address: string): string[] {
  const [beforeZeros = '', afterZeros = ''] = address.split('::')
  const head = beforeZeros.split(':').filter(Boolean)
  const tail = afterZeros.split(':').filter(Boolean)
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...zeros, ...tail]
}
