import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Debian packages that tests need. LemonLDAP::NG needs the two Perl libraries to be an OpenID Provider. */
export const testDebianPackages = [
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
 * Installs missing packages with apt, without starting their services. Without root, without apt or with
 * SLUICE_INSTALL_PACKAGES=no, prints which tests are skipped and why. Never throws.
 */
export const installMissingDebianPackages = async (names: readonly string[] = testDebianPackages): Promise<void> => {
  const installed = await Promise.all(names.map(isInstalled))
  const missing = names.filter((_, index) => !installed[index])
  if (missing.length === 0) return
  const reason = findObstacle() ?? (await install(missing))
  if (reason) console.warn(`Tests that need ${missing.join(', ')} are skipped: ${reason}.`)
}

const isInstalled = (name: string): Promise<boolean> =>
  execute('dpkg-query', ['--show', '--showformat=${db:Status-Status}', name]).then(
    ({ stdout }) => stdout === 'installed',
    () => false,
  )

/** Returns why packages cannot be installed on this machine; undefined if they can. */
const findObstacle = (): string | undefined => {
  if (process.env['SLUICE_INSTALL_PACKAGES'] === 'no') return 'SLUICE_INSTALL_PACKAGES is "no"'
  if (!existsSync('/usr/bin/apt-get')) return 'apt is not available'
  if (process.getuid?.() !== 0) return 'only root can install packages. Run apt-get install, or run the tests as root'
  return undefined
}

/** Returns the reason of a failure; undefined after success. */
const install = async (names: readonly string[]): Promise<string | undefined> => {
  console.log(`Installing packages for tests: ${names.join(', ')} …`)
  await using _policy = await preventServiceStarts()
  // The package lists of an earlier update may be sufficient if a mirror is unavailable.
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

const policyFile = '/usr/sbin/policy-rc.d'

/** Prevents packages from starting their services until disposal. Does not change an existing policy-rc.d. */
const preventServiceStarts = async (): Promise<AsyncDisposable> => {
  const isCreated = !existsSync(policyFile)
  if (isCreated) await writeFile(policyFile, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  return {
    async [Symbol.asyncDispose]() {
      if (isCreated) await rm(policyFile, { force: true })
    },
  }
}
