import { isIPv4, isIPv6, SocketAddress } from 'node:net'

const loopbackHostPattern = /^(localhost|127(\.\d+){3}|::1)$/

/** True if a host, without brackets, is a loopback name or address. */
export const isLoopback = (host: string): boolean => loopbackHostPattern.test(host)

/**
 * Returns the numbers of an IPv4 address as four texts, or the first groups of an IPv6 address as at least four texts
 * without leading zeros. Returns the IPv4 address of an IPv4-mapped IPv6 address, such as `::ffff:192.0.2.1` or
 * `::ffff:c000:201`. Returns undefined for any other text.
 */
export function splitIpAddress(
  address: string,
): { version: 4; numbers: string[] } | { version: 6; groups: string[] } | undefined {
  if (isIPv4(address)) return { version: 4, numbers: address.split('.') }
  if (!isIPv6(address)) return undefined
  const { address: canonicalAddress } = new SocketAddress({ address: address.split('%')[0]!, family: 'ipv6' })
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(canonicalAddress)?.[1]
  if (mapped !== undefined) return { version: 4, numbers: mapped.split('.') }
  // The double colon stands for the groups of zeros that are missing from the eight groups of an address.
  const [head = '', tail = ''] = canonicalAddress.split('::')
  const [headGroups, tailGroups] = [head, tail].map((text) => text.split(':').filter(Boolean)) as [string[], string[]]
  const zeroGroups = Array.from({ length: 8 - headGroups.length - tailGroups.length }, () => '0')
  return { version: 6, groups: [...headGroups, ...zeroGroups, ...tailGroups] }
}
