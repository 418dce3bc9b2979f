import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A file that contains a secret, alone or in a connection string. */
export type SecretFile = {
  /** The path below the folder of all secrets. Its first part is the reader. */
  path: string
  /** Returns the text of the file for a secret. */
  write: (secret: string) => string
  /** Returns the secret in the text of the file. */
  read: (text: string) => string
}

/** A file that contains only the secret. */
export const plainFile = (path: string): SecretFile => ({ path, write: (secret) => secret, read: (text) => text })

/** A connection string with the secret as its password. Database and role have the same name. */
export const databaseUrl = (path: string, role: string, host: string): SecretFile => ({
  path,
  write: (secret) => `postgres://${role}:${encodeURIComponent(secret)}@${host}:5432/${role}`,
  read: (text) => decodeURIComponent(new URL(text).password),
})

/** Returns the secret in a file; undefined if the file does not exist. Throws if the file contains none. */
export const readSecret = (root: string, secretFile: SecretFile): string | undefined => {
  const path = join(root, secretFile.path)
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  const secret = text === '' ? '' : secretFile.read(text)
  if (secret === '') throw new Error(`${secretFile.path} contains no secret. Restore it from a backup.`)
  return secret
}

/**
 * Writes a secret to its file atomically and durably. Returns false if the file exists. Its owner and the group of its
 * folder can read it.
 */
export const writeSecret = (root: string, secretFile: SecretFile, secret: string): boolean =>
  createFileAtomically(join(root, secretFile.path), secretFile.write(secret))

/** Creates a file atomically: a crash leaves no partial file, and of two processes one succeeds. */
export const createFileAtomically = (path: string, text: string): boolean => {
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

/** Throws if a folder does not have the expected owner, group and mode, for example because it was created by hand. */
export const assertFolder = (root: string, reader: string, owner: number, group: number): void => {
  const { uid, gid, mode } = statSync(join(root, reader))
  if (uid === owner && gid === group && (mode & 0o007) === 0) return
  throw new Error(
    `The volume of ${reader}'s secrets belongs to ${uid}:${gid} with mode ${(mode & 0o7777).toString(8)}; ` +
      `it must belong to ${owner}:${group} and be closed to others. Remove that volume if it is empty, or correct its owner.`,
  )
}
