import { randomBytes } from 'node:crypto'
import { chmod, open, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../user-error.ts'

/** Secrets that the first start generated. */
export type Secrets = {
  /** Passwords of PostgreSQL's superuser and of the three roles. */
  postgres: string
  identity: string
  pipeline: string
  warehouse: string
  /** Key ring for the encrypted columns of the databases: `k1:<32 bytes, base64>`. */
  secretKeys: string
  /** The secret with which the two services authenticate to each other. */
  serviceSecret: string
  /** The client secret of the console. */
  consoleSecret: string
  /** The first administrator. Absent if SLUICE_ADMIN_PASSWORD gave the password. */
  admin?: { username: string; password: string }
}

const secretsFile = (state: string): string => join(state, 'secrets.json')

/**
 * Reads `.sluice/secrets.json`, or creates it at the first start, readable by its owner only. Throws UserError if the
 * file is missing but data exists, because new secrets could not decrypt the data.
 */
export const readOrCreateSecrets = async (state: string): Promise<Secrets> => {
  const file = secretsFile(state)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new UserError(
      `${file} cannot be read (${error.code}). Start as the user who started first, or correct its owner.`,
    )
  })
  if (text !== undefined) {
    await chmod(file, 0o600)
    const secrets = parseSecrets(text, file)
    // Earlier versions generated none.
    return secrets.consoleSecret ? secrets : saveSecrets(state, { ...secrets, consoleSecret: randomSecret() })
  }
  if (await stat(join(state, 'postgres')).catch(() => undefined)) {
    throw new UserError(
      `${file} is missing, and the data cannot be decrypted without it. Restore it, or delete ${state} to start over.`,
    )
  }
  return saveSecrets(state, {
    postgres: randomPassword(),
    identity: randomPassword(),
    pipeline: randomPassword(),
    warehouse: randomPassword(),
    secretKeys: `k1:${randomBytes(32).toString('base64')}`,
    serviceSecret: randomSecret(),
    consoleSecret: randomSecret(),
  })
}

const randomSecret = (): string => randomBytes(32).toString('base64url')

const randomPassword = (): string => randomBytes(24).toString('base64url')

const parseSecrets = (text: string, file: string): Secrets => {
  try {
    return JSON.parse(text) as Secrets
  } catch {
    throw new UserError(`${file} is damaged, and the data cannot be decrypted without it. Restore it from a backup.`)
  }
}

/** Writes a temporary file, syncs it and renames it, so that a crash leaves either the old or the new file. */
export const saveSecrets = async (state: string, secrets: Secrets): Promise<Secrets> => {
  const draft = `${secretsFile(state)}.new`
  const file = await open(draft, 'w', 0o600)
  await file.writeFile(`${JSON.stringify(secrets, null, 2)}\n`)
  await file.sync()
  await file.close()
  await rename(draft, secretsFile(state))
  return secrets
}
