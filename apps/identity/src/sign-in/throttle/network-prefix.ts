import { isIP, isIPv4 } from 'node:net'

/**
 * Returns the network prefix of an IP address: /24 for IPv4, /48 for IPv6, the usual range of one customer. Any other
 * text is returned unchanged.
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
