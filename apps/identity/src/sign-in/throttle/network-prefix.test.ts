import { expect, it } from '@jest/globals'
import { toNetworkPrefix } from './network-prefix.ts'

it.each([
  ['203.0.113.77', '203.0.113.0/24'],
  ['::ffff:203.0.113.77', '203.0.113.0/24'],
  ['::ffff:cb00:714d', '203.0.113.0/24'],
  ['0:0:0:0:0:FFFF:CB00:714D', '203.0.113.0/24'],
  ['2001:db8:0a:1::1', '2001:db8:a::/48'],
  ['2001:db8:a:ffff:1:2:3:4', '2001:db8:a::/48'],
  ['2001:0DB8:000a::', '2001:db8:a::/48'],
  ['fe80::1%eth0', 'fe80:0:0::/48'],
  ['::1', '0:0:0::/48'],
  ['', ''],
  ['unix:', 'unix:'],
])('the network of %s is %s', (address, prefix) => {
  expect(toNetworkPrefix(address)).toBe(prefix)
})
