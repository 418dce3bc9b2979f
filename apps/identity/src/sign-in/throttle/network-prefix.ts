import { isIP, isIPv4 } from 'node:net'

/**
 * Returns the network of an address, the usual range of one customer of a provider: /24 of IPv4, /48 of IPv6. Any other
 * text counts as its own network.
 */
export function toNetworkPrefix(address: string): string {
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  if (isIPv4(plain)) return `${plain.split('.').slice(0, 3).join('.')}.0/24`
  if (isIP(plain) !== 6) return plain
  return `${expandIpv6Groups(plain).slice(0, 3).join(':')}::/48`
}

function expandIpv6Groups(address: string): string[] {
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::')
  const groups = (text: string | undefined) =>
    text ? text.split(':').map((group) => group.replace(/^0+(?=.)/, '')) : []
  if (tail === undefined) return groups(head)
  const missing = Math.max(0, 8 - groups(head).length - groups(tail).length)
  return [...groups(head), ...Array.from({ length: missing }, () => '0'), ...groups(tail)]
}
