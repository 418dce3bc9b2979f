import { createHash } from 'node:crypto'
import { chown, cp, lstat, mkdir, readlink, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UserError } from '../user-error.ts'
import type { OsUser } from './os-user.ts'

/** The folders of PostgreSQL's programs and data. The user that runs PostgreSQL can access both. */
export type PostgresFolders = { native: string; data: string }

/**
 * For an ordinary user, both folders stay where they are. For root, the data folder gets the owner `user`. If that user
 * cannot enter the checkout (a clone in /root), programs and data are in /var/lib/sluice, and the data folder of the
 * checkout is a link.
 */
export const shelter = async (native: string, data: string, user: OsUser | undefined): Promise<PostgresFolders> => {
  await mkdir(dirname(data), { recursive: true })
  if (!user) return own({ native, data })
  if ((await isOpen(native)) && (await isOpen(dirname(data)))) return own({ native, data }, user)
  const refuge = join(REFUGE, `data-${digest(data)}`)
  await linkTo(refuge, data)
  return own({ native: await copyPrograms(native), data: refuge }, user)
}

/** Deletes a data folder and, if it is a link, its target. */
export const deleteDataFolder = async (data: string): Promise<void> => {
  const target = await realpath(data).catch(() => data)
  for (const path of [target, data]) await rm(path, { recursive: true, force: true })
}

const REFUGE = '/var/lib/sluice'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

const own = async (folders: PostgresFolders, user?: OsUser): Promise<PostgresFolders> => {
  await mkdir(folders.data, { recursive: true, mode: 0o700 })
  if (user) await chown(folders.data, user.uid, user.gid)
  return folders
}

/** Whether all users can enter this folder. */
export const isOpen = async (folder: string): Promise<boolean> => {
  if (((await stat(folder)).mode & 0o001) === 0) return false
  return dirname(folder) === folder || isOpen(dirname(folder))
}

/** Copies the programs once per installed version, for all data folders. The copy is renamed when it is complete. */
const copyPrograms = async (native: string): Promise<string> => {
  const { size } = await stat(join(native, 'bin/postgres'))
  const copy = join(REFUGE, `programs-${digest(`${native} ${size}`)}`)
  if (await stat(copy).catch(() => undefined)) return copy
  const beside = `${copy}.${process.pid}`
  await cp(native, beside, { recursive: true, verbatimSymlinks: true })
  await rename(beside, copy).catch(() => rm(beside, { recursive: true }))
  return copy
}

const linkTo = async (target: string, link: string): Promise<void> => {
  const there = await lstat(link).catch(() => undefined)
  if (there?.isSymbolicLink() && (await readlink(link)) === target) return
  if (there) {
    throw new UserError(
      `${link} holds a database that root's PostgreSQL user cannot reach: move it to ${target}, or delete it.`,
    )
  }
  await symlink(target, link)
}
