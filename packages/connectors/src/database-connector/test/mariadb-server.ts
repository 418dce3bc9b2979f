import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@sluice/testing/free-port'
import { type Connection, createConnection } from 'mysql2/promise'

const server = '/usr/sbin/mariadbd'

/** The reason to skip tests that need MariaDB; undefined if it is installed. */
export const mariadbMissing = (): string | undefined =>
  existsSync(server) ? undefined : 'Debian’s mariadb-server is not installed'

export interface Mariadb extends AsyncDisposable {
  port: number
  admin: Connection
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * A MariaDB of its own on a loopback port, fast instead of durable, gone when it is disposed of. Its root has no password. With a
 * certificate it offers encrypted connections.
 */
export async function startMariadb(certificate?: { key: string; cert: string }): Promise<Mariadb> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-mariadb-'))
  const owner = unprivileged()
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const install = ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db']
  execFileSync('/usr/bin/mariadb-install-db', install, { stdio: 'ignore', cwd: folder, ...owner })
  const port = await freePort()
  const log = join(folder, 'log')
  const own = {
    datadir: data,
    port,
    socket: join(folder, 'socket'),
    'bind-address': '127.0.0.1',
    'log-error': log,
    'innodb-flush-log-at-trx-commit': 0,
    'innodb-buffer-pool-size': '128M',
    'character-set-server': 'utf8mb4',
    'skip-name-resolve': 'on',
  }
  const settings = Object.entries(own).map(([name, value]) => `--${name}=${value}`)
  for (const [name, text] of Object.entries(certificate ?? {})) {
    await writeFile(join(folder, name), text)
    settings.push(`--ssl-${name}=${join(folder, name)}`)
  }
  const child = spawn(server, ['--no-defaults', ...settings], { cwd: folder, stdio: 'ignore', ...owner })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const admin = await signIn(port, () => child.exitCode === null)
    return {
      port,
      admin,
      async [Symbol.asyncDispose]() {
        admin.destroy()
        await stop()
      },
    }
  } catch (cause) {
    const said = await readFile(log, 'utf8').catch(() => '')
    await stop()
    throw new Error(`MariaDB did not start: ${said.slice(-2000)}`, { cause })
  }
}

async function signIn(port: number, runs: () => boolean): Promise<Connection> {
  for (let tries = 0; ; tries++) {
    try {
      const settings = { host: '127.0.0.1', port, user: 'root', multipleStatements: true, charset: 'utf8mb4' }
      const admin = await createConnection(settings)
      admin.on('error', () => {})
      return admin
    } catch (error) {
      if (!runs() || tries > 1_200) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

/** Whom it runs as where these tests are root, whom it refuses to serve. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'mysql'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
