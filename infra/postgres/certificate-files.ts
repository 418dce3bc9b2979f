import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Identity, isCurrent, makeAuthority, makeServerIdentity } from './certificates.ts'

/** The names of the files in the folder of the certificates. Only `authority` is for clients. */
export const certificateFiles = {
  authority: 'authority.pem',
  authorityKey: 'authority.key',
  server: 'server.pem',
  serverKey: 'server.key',
}

/**
 * Returns the server's certificate for these hosts from the folder. Creates the authority once, and the server's certificate when
 * the hosts change and a year before it expires. Clients keep the authority's certificate, so they notice neither. The folder is
 * closed to other users, except to the group of the database in its image.
 */
export const ensureCertificates = (folder: string, hosts: readonly string[]): Identity => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { authority: file, authorityKey, server, serverKey } = certificateFiles
  const authority = readIdentity(folder, file, authorityKey) ?? save(folder, file, authorityKey, makeAuthority())
  const current = readIdentity(folder, server, serverKey)
  if (current && isCurrent(current, authority, hosts)) return current
  return save(folder, server, serverKey, makeServerIdentity(authority, hosts))
}

const readIdentity = (folder: string, certificate: string, key: string): Identity | undefined => {
  const paths = [join(folder, certificate), join(folder, key)] as const
  if (!paths.every((path) => existsSync(path))) return undefined
  return { certificate: readFileSync(paths[0], 'utf8'), key: readFileSync(paths[1], 'utf8') }
}

/** Writes the key first: a certificate without its key is created again. */
const save = (folder: string, certificate: string, key: string, identity: Identity): Identity => {
  replace(join(folder, key), identity.key, 0o640)
  replace(join(folder, certificate), identity.certificate, 0o644)
  return identity
}

const replace = (path: string, text: string, mode: number): void => {
  writeFileSync(`${path}.draft`, text, { mode })
  renameSync(`${path}.draft`, path)
}
