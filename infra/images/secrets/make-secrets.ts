/**
 * `node make-secrets.ts <folder>` creates the missing secrets of an installation, in the folders of their readers. It
 * restores a missing file from another copy of the same secret. It fails if all copies of a secret are lost, because a
 * new secret could not open the database or decrypt its data. It prints names, never values.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { certificateFiles, ensureCertificates } from '../../postgres/certificates.ts'
import { readers, secrets, type Secret } from './installation-secrets.ts'
import { assertFolder, createFileAtomically, writeSecret, readSecret } from './secret-files.ts'

const OWNER = 1000

/**
 * The names of all secrets that were ever generated. Every folder has a copy, so losing one volume does not lose the
 * list.
 */
const GENERATED_NAMES_FILE = 'made.json'

const readGeneratedNames = (root: string): Set<string> =>
  new Set(
    Object.keys(readers)
      .map((reader) => join(root, reader, GENERATED_NAMES_FILE))
      .filter((path) => existsSync(path))
      .flatMap((path): string[] => JSON.parse(readFileSync(path, 'utf8'))),
  )

const saveGeneratedNames = (root: string, names: string[]): void => {
  const text = JSON.stringify(names)
  for (const reader of Object.keys(readers)) {
    const path = join(root, reader, GENERATED_NAMES_FILE)
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
    const next = `${path}.${randomUUID()}`
    createFileAtomically(next, text)
    renameSync(next, path)
  }
}

/** Writes the missing files of a secret. Returns their number. */
const ensureSecret = (root: string, secret: Secret, known: boolean): number => {
  const present = secret.files.map((secretFile) => readSecret(root, secretFile)).find((value) => value !== undefined)
  if (present === undefined && known) {
    throw new Error(
      `The ${secret.name} was created earlier and is missing (${secret.files.map((secretFile) => secretFile.path).join(', ')}). ` +
        'Restore the volumes of the secrets from a backup. A new secret could not decrypt the data.',
    )
  }
  const [firstFile, ...otherFiles] = secret.files
  const written = writeSecret(root, firstFile, present ?? secret.make()) ? 1 : 0
  const value = readSecret(root, firstFile) ?? ''
  return otherFiles.reduce((count, secretFile) => {
    if (writeSecret(root, secretFile, value)) return count + 1
    if (readSecret(root, secretFile) === value) return count
    throw new Error(`The ${secret.name} differs between ${firstFile.path} and ${secretFile.path}. Make them the same.`)
  }, written)
}

/**
 * Creates the certificate of the warehouse's database, and copies the certificate of its authority for the pipeline.
 */
const createCertificates = (root: string, address: string): void => {
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  const folder = join(root, 'warehouse-db')
  ensureCertificates(folder, [host, 'localhost', '127.0.0.1', 'warehouse-db'])
  const copy = join(root, 'pipeline', 'warehouse-certificate')
  const draft = `${copy}.${randomUUID()}`
  createFileAtomically(draft, readFileSync(join(folder, certificateFiles.authority), 'utf8'))
  renameSync(draft, copy)
}

const createSecrets = (root: string): string[] => {
  for (const [reader, group] of Object.entries(readers)) assertFolder(root, reader, OWNER, group)
  const known = readGeneratedNames(root)
  const created = secrets
    .filter((secret) => ensureSecret(root, secret, known.has(secret.name)) > 0)
    .map(({ name }) => name)
  const address = process.env['WAREHOUSE_PUBLIC_ADDRESS']?.trim()
  if (address) createCertificates(root, address)
  saveGeneratedNames(
    root,
    secrets.map(({ name }) => name),
  )
  return created
}

try {
  const created = createSecrets(process.argv[2] ?? '/secrets')
  console.log(created.length === 0 ? 'All secrets exist.' : `Created: ${created.join(', ')}.`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
