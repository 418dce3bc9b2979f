import { createHash } from 'node:crypto'
import { chown, cp, lstat, mkdir, readlink, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UserError } from '../user-error.ts'
import type { OsUser } from './os-user.ts'

/** The folders of PostgreSQL's programs and data. The user that runs PostgreSQL can access both. */
export type PostgresFolders = { programs: string; data: string }

/**
 * Creates the data folder, and returns the folders that PostgreSQL uses. For an ordinary user, they are the given ones.
 * For root, the data folder gets the owner `user`. If that user cannot enter the checkout (a clone in /root), programs
 * and data are in /var/lib/sluice, and the data folder of the checkout is a link.
 */
export const prepareFolders = async (
  programs: string,
  data: string,
  user: OsUser | undefined,
): Promise<PostgresFolders> => {
  await mkdir(dirname(data), { recursive: true })
  if (!user) return createDataFolder({ programs, data })
  if ((await isOpenToAllUsers(programs)) && (await isOpenToAllUsers(dirname(data))))
    return createDataFolder({ programs, data }, user)
  const sharedData = join(SHARED_FOLDER, `data-${digest(data)}`)
  await replaceByLink(sharedData, data)
  return createDataFolder({ programs: await copyPrograms(programs), data: sharedData }, user)
}

/** Deletes a data folder and, if it is a link, its target. */
export const deleteDataFolder = async (data: string): Promise<void> => {
  const target = await realpath(data).catch(() => data)
  for (const path of [target, data]) await rm(path, { recursive: true, force: true })
}

const SHARED_FOLDER = '/var/lib/sluice'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

const createDataFolder = async (folders: PostgresFolders, user?: OsUser): Promise<PostgresFolders> => {
  await mkdir(folders.data, { recursive: true, mode: 0o700 })
  if (user) await chown(folders.data, user.uid, user.gid)
  return folders
}

/** Returns whether all users can enter a folder. */
export const isOpenToAllUsers = async (folder: string): Promise<boolean> => {
  if (((await stat(folder)).mode & 0o001) === 0) return false
  return dirname(folder) === folder || isOpenToAllUsers(dirname(folder))
}

/** Copies the programs once per installed version, for all data folders. The copy is renamed when it is complete. */
const copyPrograms = async (programs: string): Promise<string> => {
  const { size } = await stat(join(programs, 'bin/postgres'))
  const copy = join(SHARED_FOLDER, `programs-${digest(`${programs} ${size}`)}`)
  if (await stat(copy).catch(() => undefined)) return copy
  const draft = `${copy}.${process.pid}`
  await cp(programs, draft, { recursive: true, verbatimSymlinks: true })
  await rename(draft, copy).catch(() => rm(draft, { recursive: true }))
  return copy
}

const replaceByLink = async (target: string, link: string): Promise<void> => {
  const existing = await lstat(link).catch(() => undefined)
  if (existing?.isSymbolicLink() && (await readlink(link)) === target) return
  if (existing) {
    throw new UserError(
      `${link} contains a database that the PostgreSQL user of root cannot access. Move it to ${target}, or delete it.`,
    )
  }
  await symlink(target, link)
}
