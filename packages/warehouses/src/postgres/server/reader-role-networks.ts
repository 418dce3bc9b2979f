import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { Client } from 'pg'
import { keyOfReader, type ReaderNetworks, readerLoginPattern } from '../../warehouse-reader-logins.ts'

/**
 * Validates a CIDR block. Returns an error message, or undefined if the block is valid. Bits after the prefix must be
 * zero. Otherwise `10.1.2.3/8`, a common mistake for `10.1.2.3/32`, would allow a large network.
 */
export function networkProblem(network: string): string | undefined {
  const [address = '', prefixText = '', ...textAfterPrefix] = network.split('/')
  // A zone (fe80::1%eth0) names a network interface of one machine. PostgreSQL does not accept zones in a CIDR block.
  const ipVersion = address.includes('%') ? 0 : isIP(address)
  if (ipVersion === 0) return `"${network}" has no valid address. Write it like 192.0.2.0/24 or 2001:db8::/32.`
  const addressBits = ipVersion === 4 ? 32 : 128
  const prefixLength = Number(prefixText)
  const isValidPrefix = /^(0|[1-9]\d{0,2})$/.test(prefixText) && prefixLength <= addressBits
  if (!isValidPrefix || textAfterPrefix.length > 0)
    return `"${network}" needs a prefix length from 0 to ${addressBits} after the slash, and nothing else.`
  const value = ipVersion === 4 ? parseIpv4(address) : parseIpv6(address)
  const bitsAfterPrefix = BigInt.asUintN(addressBits - prefixLength, value)
  if (bitsAfterPrefix !== 0n)
    return `"${network}" has address bits behind its prefix. For the single address, write ${address}/${addressBits}.`
  return undefined
}

/** Returns a valid IPv4 address as a 32-bit number. */
function parseIpv4(address: string): bigint {
  let value = 0n
  for (const byte of address.split('.')) value = (value << 8n) | BigInt(Number(byte))
  return value
}

/** Returns a valid IPv6 address as a 128-bit number. */
function parseIpv6(address: string): bigint {
  // URL writes the last 32 bits in hexadecimal, even if they were given in IPv4 notation.
  const normalized = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const splitGroups = (text: string) => (text === '' ? [] : text.split(':'))
  const [head = '', tail = ''] = normalized.split('::')
  const headGroups = splitGroups(head)
  const tailGroups = splitGroups(tail)
  // `::` stands for as many zero groups as are missing to eight.
  const zeroGroups = Array.from({ length: 8 - headGroups.length - tailGroups.length }, () => '0')
  const groups = [...headGroups, ...zeroGroups, ...tailGroups]
  const bitsPerGroup = 16n
  return groups.reduce((value, group) => (value << bitsPerGroup) | BigInt(`0x${group}`), 0n)
}

/**
 * Writes the connection rules for readers to a file that pg_hba.conf includes before its own rules. If the rules
 * changed, reloads the server's configuration (`prepareWarehouseServer` grants this right). Then ends the sessions that
 * the rules would reject.
 */
export async function writeNetworks(admin: Client, file: string, readers: readonly ReaderNetworks[]): Promise<void> {
  const restrictedReaders = readers.filter(({ networks }) => networks.length > 0).map(withoutInvalidNetworks)
  const rules = formatRules(restrictedReaders)
  const currentRules = await readFile(file, 'utf8').catch(() => '')
  if (currentRules !== rules) {
    // Writes to a temporary file and renames it, so that the server never reads half a file.
    const temporaryFile = `${file}.${randomBytes(6).toString('hex')}`
    await writeFile(temporaryFile, rules, { mode: 0o644 })
    await rename(temporaryFile, file)
    await admin.query('select pg_reload_conf()')
  }
  if (restrictedReaders.length === 0) return
  const allowedPairs = restrictedReaders.flatMap(({ login, networks }) =>
    networks.map((network) => ({ login, network })),
  )
  await admin.query(endRejectedSessions, [
    restrictedReaders.map(({ login }) => login),
    allowedPairs.map(({ login }) => login),
    allowedPairs.map(({ network }) => network),
  ])
}

/**
 * Removes networks that PostgreSQL would reject; older versions of Sluice may have accepted them. One invalid line
 * would prevent the server from reading any rule. A reader without a remaining network cannot connect.
 */
const withoutInvalidNetworks = ({ login, networks }: ReaderNetworks): ReaderNetworks => ({
  login,
  networks: networks.filter((network) => networkProblem(network) === undefined),
})

/**
 * Ends sessions from networks that are not allowed, because pg_hba.conf applies only to new connections. `$1` are the
 * logins of the restricted readers, `$2` and `$3` the pairs of a login and a network from which it may connect.
 */
const endRejectedSessions = `
  select pg_terminate_backend(session.pid) from pg_stat_activity as session
  where session.usename = any($1::text[]) and not exists (
    select from unnest($2::text[], $3::cidr[]) as allowed (login, network)
    where allowed.login = session.usename and session.client_addr <<= allowed.network)`

/**
 * Returns pg_hba.conf rules for readers' logins only. `restrictedReaders` may connect only from certain networks. The
 * server applies the first matching rule, so the rules for all other readers come last. Readers must use TLS, except
 * from the server's own machine.
 */
function formatRules(restrictedReaders: readonly ReaderNetworks[]): string {
  const sortedReaders = restrictedReaders.toSorted((one, other) => (one.login < other.login ? -1 : 1))
  const rulesOfRestrictedReaders = sortedReaders.flatMap(({ login, networks }) => [
    ...networks.map((network) => {
      const type = isLoopback(network) ? 'host' : 'hostssl'
      return hbaLine(type, `c_${keyOfReader(login)}`, login, network)
    }),
    `host all ${login} all reject`,
  ])
  // A quoted name that begins with a slash is a regular expression.
  const anyReader = `"/${readerLoginPattern}"`
  const rulesOfOtherReaders = [
    hbaLine('hostssl', 'all', anyReader, 'all'),
    hbaLine('host', 'all', anyReader, '127.0.0.1/32'),
    hbaLine('host', 'all', anyReader, '::1/128'),
    `host all ${anyReader} all reject`,
  ]
  const heading = '# Sluice replaces this file when a warehouse reader changes.'
  return [heading, ...rulesOfRestrictedReaders, ...rulesOfOtherReaders, ''].join('\n')
}

/** Returns one pg_hba.conf line that allows login by password. */
const hbaLine = (type: string, database: string, user: string, network: string): string =>
  `${type} ${database} ${user} ${network} scram-sha-256`

const isLoopback = (network: string): boolean => network.startsWith('127.') || network === '::1/128'
