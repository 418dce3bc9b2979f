import { expect, it } from '@jest/globals'
import { networkProblem } from './networks.ts'

it.each([
  '192.0.2.0/24',
  '0.0.0.0/0',
  '192.0.2.7/32',
  '10.128.0.0/9',
  '::/0',
  '2001:db8::/32',
  '2001:db8::1/128',
  'fe80::/10',
])('accepts the network %s', (network) => expect(networkProblem(network)).toBeUndefined())

it.each([
  ['192.0.2.1/24', /For the single address, write 192\.0\.2\.1\/32\.$/],
  ['10.128.0.0/8', /bits behind its prefix/],
  ['2001:db8::1/64', /write 2001:db8::1\/128/],
  ['::ffff:192.0.2.1/96', /bits behind its prefix/],
  ['192.0.2.0/33', /from 0 to 32/],
  ['::/129', /from 0 to 128/],
  ['192.0.2.0', /from 0 to 32/],
  ['192.0.2.0/', /from 0 to 32/],
  ['192.0.2/24', /no valid address/],
  ['example.org/24', /no valid address/],
  ['192.0.2.0/24 trust', /from 0 to 32/],
])('rejects the network %j', (network, reason) => expect(networkProblem(network)).toMatch(reason))
