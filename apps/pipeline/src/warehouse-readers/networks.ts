import { isIP } from 'node:net'

/**
 * Returns why a text is not a CIDR block; undefined if it is one. Bits behind the prefix must be zero, so that `10.1.2.3/8`, a common
 * mistake for `10.1.2.3/32`, does not allow a large network.
 */
export function networkProblem(network: string): string | undefined {
  const [address = '', length = ''] = network.split('/')
  const family = isIP(address)
  if (family === 0) return `"${network}" has no valid address. Write it like 192.0.2.0/24 or 2001:db8::/32.`
  const bits = family === 4 ? 32 : 128
  const prefix = Number(length)
  if (!/^(0|[1-9]\d{0,2})$/.test(length) || prefix > bits)
    return `"${network}" needs a prefix length from 0 to ${bits} after the slash.`
  const hostBits = BigInt(bits - prefix)
  const value = family === 4 ? parseIpv4(address) : parseIpv6(address)
  if (value & ((1n << hostBits) - 1n))
    return `"${network}" has address bits behind its prefix. For the single address, write ${address}/${bits}.`
  return undefined
}

const parseIpv4 = (address: string): bigint =>
  address.split('.').reduce((value, part) => (value << 8n) | BigInt(Number(part)), 0n)

function parseIpv6(address: string): bigint {
  // URL writes the last 32 bits in hexadecimal if they are given as an IPv4 address.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = plain.split('::')
  const groups = (text: string | undefined) => (text ? text.split(':') : [])
  const [first, last] = [groups(head), groups(tail)]
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - first.length - last.length }, () => '0')
  return [...first, ...zeros, ...last].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n)
}
