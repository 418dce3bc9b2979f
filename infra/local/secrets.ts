import { randomBytes } from 'node:crypto'
import { chmod, open, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '../refusal.ts'

/** What this installation made up for itself, once. */
export type Secrets = {
  /** Passwords of PostgreSQL's superuser and of the three roles. */
  postgres: string
  identity: string
  pipeline: string
  warehouse: string
  /** Key ring for what is encrypted in the databases: `k1:<32 bytes, base64>`. */
  secretKeys: string
  /** What the two services prove themselves to each other with. */
  serviceSecret: string
  /** The first administrator, when the password was made here and not given by SLUICE_ADMIN_PASSWORD. */
  admin?: { username: string; password: string }
}

const fileIn = (state: string): string => join(state, 'secrets.json')

/**
 * The secrets of `.sluice/secrets.json`, made at the first start; readable for its owner alone. Throws Refusal where the
 * file is gone and the data is not: new secrets would open none of it.
 */
export const secretsOf = async (state: string): Promise<Secrets> => {
  const file = fileIn(state)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new Refusal(
      `${file} cannot be read (${error.code}): start as the user who started first, or correct its owner.`,
    )
  })
  if (text !== undefined) {
    await chmod(file, 0o600)
    return parse(text, file)
  }
  if (await stat(join(state, 'postgres')).catch(() => undefined)) {
    throw new Refusal(
      `${file} is gone, and the data cannot be opened without it: restore it, or delete ${state} to begin afresh.`,
    )
  }
  return saveSecrets(state, {
    postgres: password(),
    identity: password(),
    pipeline: password(),
    warehouse: password(),
    secretKeys: `k1:${randomBytes(32).toString('base64')}`,
    serviceSecret: randomBytes(32).toString('base64url'),
  })
}

const password = (): string => randomBytes(24).toString('base64url')

const parse = (text: string, file: string): Secrets => {
  try {
    return JSON.parse(text) as Secrets
  } catch {
    throw new Refusal(`${file} is damaged, and the data cannot be opened without it: restore it from a backup.`)
  }
}

/** Written beside, made durable and renamed: a crash leaves the old file or the new one. */
export const saveSecrets = async (state: string, secrets: Secrets): Promise<Secrets> => {
  const beside = `${fileIn(state)}.new`
  const file = await open(beside, 'w', 0o600)
  await file.writeFile(`${JSON.stringify(secrets, null, 2)}\n`)
  await file.sync()
  await file.close()
  await rename(beside, fileIn(state))
  return secrets
}
