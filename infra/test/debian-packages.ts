import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'

/**
 * Programs of others that our tests run against, by the Debian package that brings them. The two libraries are ones that
 * lemonldap-ng only recommends, and cannot be an OpenID Provider without.
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
]

const apt = ['-qq', '-o', 'DPkg::Lock::Timeout=600', '-o', 'Acquire::Retries=2']

/**
 * Installs which of these Debian packages are missing, where that can be done: as root, with apt. No service is started.
 * Elsewhere, or when it fails, one line says which tests are left out and why: tests look for the program, and skip
 * themselves without it. SLUICE_INSTALL_PACKAGES=no keeps it from touching the machine. Never throws.
 */
export const demandPackages = async (names: readonly string[] = testPackages): Promise<void> => {
  const missing = names.filter((name) => !isInstalled(name))
  if (missing.length === 0) return
  const reason = obstacle() ?? (await install(missing))
  if (reason) console.warn(`Tests that need ${missing.join(', ')} are skipped: ${reason}.`)
}

const isInstalled = (name: string): boolean => {
  const { stdout } = spawnSync('dpkg-query', ['--show', '--showformat=${db:Status-Status}', name], { encoding: 'utf8' })
  return stdout === 'installed'
}

const obstacle = (): string | undefined => {
  if (process.env['SLUICE_INSTALL_PACKAGES'] === 'no') return 'SLUICE_INSTALL_PACKAGES is "no"'
  if (!existsSync('/usr/bin/apt-get')) return 'there is no apt here to install them with'
  if (process.getuid?.() !== 0) return 'installing them takes root: apt-get install them, or run the tests as root'
  return undefined
}

/** Undefined when it worked, else why not. */
const install = async (names: readonly string[]): Promise<string | undefined> => {
  console.log(`Installing what tests need: ${names.join(', ')} …`)
  await using _quiet = await withoutServices()
  // Fails where a mirror is away; what is known already may still do.
  run(['update', ...apt])
  const { status, stderr } = run(['install', '--yes', '--no-install-recommends', ...apt, ...names])
  if (status === 0) return undefined
  const said =
    stderr
      .trim()
      .split('\n')
      .findLast((line) => line.startsWith('E:')) ?? 'no reason given'
  return `apt-get could not install them (${said})`
}

const run = (args: string[]) =>
  spawnSync('apt-get', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    timeout: 900_000,
  })

const policy = '/usr/sbin/policy-rc.d'

/** While it lasts, packages do not start what they bring. A policy that the machine has already stays as it is. */
const withoutServices = async (): Promise<AsyncDisposable> => {
  const own = !existsSync(policy)
  if (own) await writeFile(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  return {
    async [Symbol.asyncDispose]() {
      if (own) await rm(policy, { force: true })
    },
  }
}
