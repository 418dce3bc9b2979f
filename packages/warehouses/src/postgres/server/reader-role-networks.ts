import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { Client } from 'pg'
import { keyOfReader, type ReaderNetworks, readerLoginPattern } from '../../reader-server.ts'

/**
 * Validates a CIDR block. Returns an error message, or undefined if the block is valid. Bits after the prefix must be
 * zero. Otherwise `10.1.2.3/8`, a common mistake for `10.1.2.3/32`, would allow a large network.
 */
export function networkProblem(network: string): string | undefined {
  const [address = '', length = '', ...more] = network.split('/')
  // A zone (fe80::1%eth0) names a network interface of one machine. PostgreSQL does not accept zones in a CIDR block.
  const family = address.includes('%') ? 0 : isIP(address)
  if (family === 0) return `"${network}" has no valid address. Write it like 192.0.2.0/24 or 2001:db8::/32.`
  const bits = family === 4 ? 32 : 128
  const prefix = Number(length)
  if (!/^(0|[1-9]\d{0,2})$/.test(length) || prefix > bits || more.length > 0)
    return `"${network}" needs a prefix length from 0 to ${bits} after the slash, and nothing else.`
  const hostBits = BigInt(bits - prefix)
  const value = family === 4 ? parseIpv4(address) : parseIpv6(address)
  if (value & ((1n << hostBits) - 1n))
    return `"${network}" has address bits behind its prefix. For the single address, write ${address}/${bits}.`
  return undefined
}

const parseIpv4 = (address: string): bigint =>
  address.split('.').reduce((value, part) => (value << 8n) | BigInt(Number(part)), 0n)

function parseIpv6(address: string): bigint {
  // URL writes the last 32 bits in hexadecimal, even if they were given in IPv4 notation.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = plain.split('::')
  const groups = (text: string | undefined) => (text ? text.split(':') : [])
  const [first, last] = [groups(head), groups(tail)]
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - first.length - last.length }, () => '0')
  return [...first, ...zeros, ...last].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n)
}

/**
 * Writes the connection rules for readers to a file that pg_hba.conf includes before its own rules. If the rules
 * changed, reloads the server's configuration (`prepareWarehouseServer` grants this right) and ends sessions that the
 * new rules would reject.
 */
export async function writeNetworks(admin: Client, file: string, all: readonly ReaderNetworks[]): Promise<void> {
  const restricted = all.filter(({ networks }) => networks.length > 0).map(withoutInvalid)
  const rules = formatRules(restricted)
  if ((await readFile(file, 'utf8').catch(() => '')) !== rules) {
    // Writes to a temporary file and renames it, so that the server never reads half a file.
    const draft = `${file}.${randomBytes(6).toString('hex')}`
    await writeFile(draft, rules, { mode: 0o644 })
    await rename(draft, file)
    await admin.query('select pg_reload_conf()')
  }
  if (restricted.length === 0) return
  const allowed = restricted.flatMap(({ login, networks }) => networks.map((network) => ({ login, network })))
  await admin.query(endRejectedSessions, [
    restricted.map(({ login }) => login),
    allowed.map(({ login }) => login),
    allowed.map(({ network }) => network),
  ])
}

/**
 * Removes networks that PostgreSQL would reject; older versions of Sluice may have accepted them. One invalid line
 * would prevent the server from reading any rule. A reader without a remaining network cannot connect.
 */
const withoutInvalid = ({ login, networks }: ReaderNetworks): ReaderNetworks => ({
  login,
  networks: networks.filter((network) => networkProblem(network) === undefined),
})

/** Ends sessions from networks that are no longer allowed, because pg_hba.conf applies only to new connections. */
const endRejectedSessions = `
  select pg_terminate_backend(a.pid) from pg_stat_activity a
  where a.usename = any($1::text[]) and not exists (
    select from unnest($2::text[], $3::cidr[]) as allowed (login, network)
    where allowed.login = a.usename and a.client_addr <<= allowed.network)`

/**
 * Returns pg_hba.conf rules for readers' logins only. `restricted` are the readers that may connect only from certain
 * networks. The server applies the first matching rule. Readers must use TLS, except from the server's own machine.
 */
function formatRules(restricted: readonly ReaderNetworks[]): string {
  const anyReader = `"/${readerLoginPattern}"`
  return [
    '# Sluice replaces this file when a warehouse reader changes.',
    ...restricted
      .toSorted((one, other) => (one.login < other.login ? -1 : 1))
      .flatMap(({ login, networks }) => [
        ...networks.map((network) =>
          hbaLine(isLoopback(network) ? 'host' : 'hostssl', `c_${keyOfReader(login)}`, login, network),
        ),
        `host all ${login} all reject`,
      ]),
    hbaLine('hostssl', 'all', anyReader, 'all'),
    hbaLine('host', 'all', anyReader, '127.0.0.1/32'),
    hbaLine('host', 'all', anyReader, '::1/128'),
    `host all ${anyReader} all reject`,
    '',
  ].join('\n')
}

/** Returns one pg_hba.conf line that allows login by password. */
const hbaLine = (type: string, database: string, user: string, network: string): string =>
  `${type} ${database} ${user} ${network} scram-sha-256`

const isLoopback = (network: string): boolean => network.startsWith('127.') || network === '::1/128'
