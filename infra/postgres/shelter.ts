import { createHash } from 'node:crypto'
import { chown, cp, lstat, mkdir, readlink, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Refusal } from '../refusal.ts'
import type { OsUser } from './os-user.ts'

/** Where PostgreSQL's programs and its data are, both reachable for the user it runs as. */
export type Shelter = { native: string; data: string }

/**
 * As an ordinary user the two folders are used where they are. As root the data folder is handed to `user`; where that
 * user may not enter the checkout (a clone in /root), programs and data live under /var/lib/sluice instead, and the data
 * folder of the checkout is a link to them.
 */
export const shelter = async (native: string, data: string, user: OsUser | undefined): Promise<Shelter> => {
  await mkdir(dirname(data), { recursive: true })
  if (!user) return own({ native, data })
  if ((await isOpen(native)) && (await isOpen(dirname(data)))) return own({ native, data }, user)
  const refuge = join(REFUGE, `data-${digest(data)}`)
  await linkTo(refuge, data)
  return own({ native: await copyPrograms(native), data: refuge }, user)
}

/** Deletes a data folder for good, also where it is a link to a refuge. */
export const demolish = async (data: string): Promise<void> => {
  const target = await realpath(data).catch(() => data)
  for (const path of [target, data]) await rm(path, { recursive: true, force: true })
}

const REFUGE = '/var/lib/sluice'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

const own = async (folders: Shelter, user?: OsUser): Promise<Shelter> => {
  await mkdir(folders.data, { recursive: true, mode: 0o700 })
  if (user) await chown(folders.data, user.uid, user.gid)
  return folders
}

/** Whether everybody may walk down to this folder. */
export const isOpen = async (folder: string): Promise<boolean> => {
  if (((await stat(folder)).mode & 0o001) === 0) return false
  return dirname(folder) === folder || isOpen(dirname(folder))
}

/** One copy per installed version for all data folders; made beside and renamed, so that half a copy is never run. */
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
    throw new Refusal(
      `${link} holds a database that root's PostgreSQL user cannot reach: move it to ${target}, or delete it.`,
    )
  }
  await symlink(target, link)
}
