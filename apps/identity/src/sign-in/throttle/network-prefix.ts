import { splitIpAddress } from '@sluice/process'

/**
 * Returns the network prefix of an IP address: /24 for IPv4, /48 for IPv6, the usual range of one customer. Any other
 * text is returned unchanged.
 */
export function toNetworkPrefix(address: string): string {
  const parts = splitIpAddress(address)
  if (!parts) return address
  return parts.version === 4
    ? `${parts.numbers.slice(0, 3).join('.')}.0/24`
    : `${parts.groups.slice(0, 3).join(':')}::/48`
}
