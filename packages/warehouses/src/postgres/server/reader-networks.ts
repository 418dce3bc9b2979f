import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import type { Client } from 'pg'
import { keyOfReader, readerLoginPattern, type ReaderNetworks } from '../../reader-server.ts'

/**
 * Writes the rules for readers into the file that pg_hba.conf includes before its own rules, and reloads the server's configuration.
 * Does nothing if the file already has these rules. `prepareWarehouseServer` lets the administrator reload.
 */
export async function writeNetworks(admin: Client, file: string, all: readonly ReaderNetworks[]): Promise<void> {
  const rules = formatRules(all)
  if ((await readFile(file, 'utf8').catch(() => '')) === rules) return
  // A rename, so that the server never reads half a file.
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, rules, { mode: 0o644 })
  await rename(draft, file)
  await admin.query('select pg_reload_conf()')
}

/**
 * Returns rules for the logins of readers, and for no other role. The first matching rule decides. Readers connect with TLS, except from
 * the server's own machine.
 */
function formatRules(all: readonly ReaderNetworks[]): string {
  const restricted = all.filter(({ networks }) => networks.length > 0)
  const any = `"/${readerLoginPattern}"`
  return [
    '# Sluice replaces this file when a warehouse reader changes.',
    ...restricted
      .toSorted((one, other) => (one.login < other.login ? -1 : 1))
      .flatMap(({ login, networks }) => [
        ...networks.map((network) => allow(isLocal(network) ? 'host' : 'hostssl', `c_${keyOfReader(login)}`, login, network)),
        `host all ${login} all reject`,
      ]),
    allow('hostssl', 'all', any, 'all'),
    allow('host', 'all', any, '127.0.0.1/32'),
    allow('host', 'all', any, '::1/128'),
    `host all ${any} all reject`,
    '',
  ].join('\n')
}

const allow = (type: string, database: string, user: string, network: string): string =>
  `${type} ${database} ${user} ${network} scram-sha-256`

const isLocal = (network: string): boolean => network.startsWith('127.') || network === '::1/128'
