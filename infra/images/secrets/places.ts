import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A file that holds a secret, as it is or inside a connection string. */
export type Place = {
  /** Below the folder of all secrets; its first part is the reader that the folder belongs to. */
  path: string
  /** The file's text, from the secret. */
  write: (secret: string) => string
  /** The secret, from the file's text. */
  read: (text: string) => string
}

/** The secret alone in a file. */
export const file = (path: string): Place => ({ path, write: (secret) => secret, read: (text) => text })

/** The secret as the password of a connection string to the database that is named like its role. */
export const databaseUrl = (path: string, role: string, host: string): Place => ({
  path,
  write: (secret) => `postgres://${role}:${encodeURIComponent(secret)}@${host}:5432/${role}`,
  read: (text) => decodeURIComponent(new URL(text).password),
})

/** The secret that a place holds, undefined when there is no such file. Throws when the file holds none. */
export const readPlace = (root: string, place: Place): string | undefined => {
  const path = join(root, place.path)
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  const secret = text === '' ? '' : place.read(text)
  if (secret === '') throw new Error(`${place.path} holds no secret: restore it from a backup.`)
  return secret
}

/**
 * Puts a secret in its place, complete and on the disk, or not at all; false when a file is there already.
 * Readable by its owner and the group of its folder.
 */
export const fillPlace = (root: string, place: Place, secret: string): boolean =>
  createWhole(join(root, place.path), place.write(secret))

/** Creates a file in one step: nobody sees a half, a crash leaves no half, and of two processes one wins. */
export const createWhole = (path: string, text: string): boolean => {
  const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
  const descriptor = openSync(draft, 'wx', 0o440)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
    linkSync(draft, path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  } finally {
    closeSync(descriptor)
    unlinkSync(draft)
    syncFolder(dirname(path))
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

const syncFolder = (path: string): void => {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** Throws when a folder is not the kind the image prepares: made by hand, or by an engine that gives new volumes to root. */
export const assertFolder = (root: string, reader: string, owner: number, group: number): void => {
  const { uid, gid, mode } = statSync(join(root, reader))
  if (uid === owner && gid === group && (mode & 0o007) === 0) return
  throw new Error(
    `The volume of ${reader}'s secrets belongs to ${uid}:${gid} with mode ${(mode & 0o7777).toString(8)}; ` +
      `it must belong to ${owner}:${group} and be closed to others. Remove that volume if it is empty, or correct its owner.`,
  )
}
