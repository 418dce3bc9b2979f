/**
 * Makes every secret of an installation once, each into the folders of those who read it:
 *
 *     node make-secrets.ts <folder>
 *
 * Run again it makes only what a newer version added. A copy that is missing is written again from the other copy. A
 * secret that was made and is nowhere now is refused: a new one would lock the service out of its database, or leave
 * what it encrypted unreadable. It prints names, never values.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { certificateFiles, ensureCertificates } from '../../postgres/certificates.ts'
import { readers, secrets, type Secret } from './installation-secrets.ts'
import { assertFolder, createWhole, fillPlace, readPlace } from './secret-files.ts'

const OWNER = 1000

/**
 * The names of all secrets that were ever generated. Every folder has a copy, so losing one volume does not lose the
 * list.
 */
const MADE = 'made.json'

const madeBefore = (root: string): Set<string> =>
  new Set(
    Object.keys(readers)
      .map((reader) => join(root, reader, MADE))
      .filter((path) => existsSync(path))
      .flatMap((path): string[] => JSON.parse(readFileSync(path, 'utf8'))),
  )

const rememberMade = (root: string, names: string[]): void => {
  const text = JSON.stringify(names)
  for (const reader of Object.keys(readers)) {
    const path = join(root, reader, MADE)
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
    const next = `${path}.${randomUUID()}`
    createWhole(next, text)
    renameSync(next, path)
  }
}

/** Writes the missing files of a secret. Returns their number. */
const ensure = (root: string, secret: Secret, known: boolean): number => {
  const present = secret.places.map((place) => readPlace(root, place)).find((value) => value !== undefined)
  if (present === undefined && known) {
    throw new Error(
      `The ${secret.name} was made before and is gone (${secret.places.map((place) => place.path).join(', ')}): ` +
        'restore the volumes of the secrets from a backup. A new one would not fit the data.',
    )
  }
  const [home, ...others] = secret.places
  const written = fillPlace(root, home, present ?? secret.make()) ? 1 : 0
  const value = readPlace(root, home) ?? ''
  return others.reduce((count, place) => {
    if (fillPlace(root, place, value)) return count + 1
    if (readPlace(root, place) === value) return count
    throw new Error(`The ${secret.name} differs between ${home.path} and ${place.path}: make them the same.`)
  }, written)
}

/** Makes the certificate of the warehouse's database, and hands that of its authority to the pipeline. */
const makeCertificates = (root: string, address: string): void => {
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  const folder = join(root, 'warehouse-db')
  ensureCertificates(folder, [host, 'localhost', '127.0.0.1', 'warehouse-db'])
  const copy = join(root, 'pipeline', 'warehouse-certificate')
  const draft = `${copy}.${randomUUID()}`
  createWhole(draft, readFileSync(join(folder, certificateFiles.authority), 'utf8'))
  renameSync(draft, copy)
}

const makeSecrets = (root: string): string[] => {
  for (const [reader, group] of Object.entries(readers)) assertFolder(root, reader, OWNER, group)
  const known = madeBefore(root)
  const made = secrets.filter((secret) => ensure(root, secret, known.has(secret.name)) > 0).map(({ name }) => name)
  const address = process.env['WAREHOUSE_PUBLIC_ADDRESS']?.trim()
  if (address) makeCertificates(root, address)
  rememberMade(
    root,
    secrets.map(({ name }) => name),
  )
  return made
}

try {
  const made = makeSecrets(process.argv[2] ?? '/secrets')
  console.log(made.length === 0 ? 'Every secret is there.' : `Made: ${made.join(', ')}.`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
