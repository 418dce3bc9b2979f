import { spawnSync } from 'node:child_process'
import { UserError } from '../user-error.ts'

/** The user that PostgreSQL runs as if this process is root. */
export type OsUser = { name: string; uid: number; gid: number }

/**
 * PostgreSQL refuses to run as root, and initdb needs a user in /etc/passwd. Returns undefined for an ordinary user,
 * which runs PostgreSQL itself. For root, returns `postgres` if it exists, else a new system user `sluice`, else
 * `nobody`.
 */
export const unprivilegedUser = (): OsUser | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const found = findUser('postgres') ?? findUser('sluice') ?? createUser('sluice') ?? findUser('nobody')
  if (found) return found
  throw new UserError(
    'PostgreSQL does not run as root. Start as an ordinary user, or add one with "useradd --system sluice".',
  )
}

const findUser = (name: string): OsUser | undefined => {
  const id = (flag: string): number => Number.parseInt(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout, 10)
  const [uid, gid] = [id('-u'), id('-g')]
  return uid > 0 && gid > 0 ? { name, uid, gid } : undefined
}

const createUser = (name: string): OsUser | undefined => {
  spawnSync('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', name])
  return findUser(name)
}
