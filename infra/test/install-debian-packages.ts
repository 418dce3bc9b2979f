import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/**
 * Debian packages of the programs that tests run against. LemonLDAP::NG recommends the two libraries, and needs them to be
 * an OpenID Provider.
 */
export const testPackages = [
  'lemonldap-ng',
  'libstring-random-perl',
  'libio-string-perl',
  'apache2',
  'libapache2-mod-auth-openidc',
  'chromium',
  'mariadb-server',
  'swift-proxy',
  'swift-account',
  'swift-container',
  'swift-object',
  'memcached',
  'libfaketime',
  'python3-openpyxl',
  'postgresql-client',
  'python3-psycopg',
  'unixodbc',
  'odbc-postgresql',
]

/**
 * Installs the missing ones of these packages, where that is possible: as root, with apt, unless
 * SLUICE_INSTALL_PACKAGES=no. Starts no service. Otherwise one line says which tests are skipped and why. Never throws.
 */
export const installMissingDebianPackages = async (names: readonly string[] = testPackages): Promise<void> => {
  const installed = await Promise.all(names.map(isInstalled))
  const missing = names.filter((_, index) => !installed[index])
  if (missing.length === 0) return
  const reason = obstacle() ?? (await install(missing))
  if (reason) console.warn(`Tests that need ${missing.join(', ')} are skipped: ${reason}.`)
}

const isInstalled = (name: string): Promise<boolean> =>
  execute('dpkg-query', ['--show', '--showformat=${db:Status-Status}', name]).then(
    ({ stdout }) => stdout === 'installed',
    () => false,
  )

const obstacle = (): string | undefined => {
  if (process.env['SLUICE_INSTALL_PACKAGES'] === 'no') return 'SLUICE_INSTALL_PACKAGES is "no"'
  if (!existsSync('/usr/bin/apt-get')) return 'there is no apt here to install them with'
  if (process.getuid?.() !== 0) return 'only root can install them: run apt-get install, or run the tests as root'
  return undefined
}

/** Answers why it failed, or undefined. */
const install = async (names: readonly string[]): Promise<string | undefined> => {
  console.log(`Installing what tests need: ${names.join(', ')} …`)
  await using _quiet = await withoutServices()
  // An update fails while a mirror is away; the lists of an earlier update may do.
  await runApt(['update']).catch(() => {})
  return runApt(['install', '--yes', '--no-install-recommends', ...names]).then(
    () => undefined,
    ({ stderr = '' }: { stderr?: string }) => {
      const lines = stderr.trim().split('\n')
      return `apt-get could not install them (${lines.findLast((line) => line.startsWith('E:')) ?? 'no reason given'})`
    },
  )
}

const runApt = (args: string[]) =>
  execute('apt-get', [...args, '-qq', '-o', 'DPkg::Lock::Timeout=600', '-o', 'Acquire::Retries=2'], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    maxBuffer: 100_000_000,
    timeout: 900_000,
  })

const policy = '/usr/sbin/policy-rc.d'

/** Until it is disposed of, packages do not start their services. An existing policy of the machine stays as it is. */
const withoutServices = async (): Promise<AsyncDisposable> => {
  const own = !existsSync(policy)
  if (own) await writeFile(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  return {
    async [Symbol.asyncDispose]() {
      if (own) await rm(policy, { force: true })
    },
  }
}
