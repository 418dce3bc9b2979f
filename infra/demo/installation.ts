import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from './demo-arguments.ts'

/** The addresses of an installation, and its administrator. */
export interface Installation {
  identityUrl: string
  pipelineUrl: string
  username: string
  /** Undefined if it must be entered in the terminal. */
  password: string | undefined
  /** Where the password comes from, for the message about a wrong password. */
  passwordFrom: 'SLUICE_ADMIN_PASSWORD' | 'secrets.json' | 'terminal'
}

interface LocalFile {
  identityUrl?: string
  pipelineUrl?: string
  admin?: { username?: string }
}

interface SecretsFile {
  admin?: { username?: string; password?: string }
}

/**
 * Returns the installation of the environment variables, or of the files of `npm start`. The password of `npm start` is
 * not sent to an address from the environment. Throws `UsageError` if an address is invalid.
 */
export async function findInstallation(environment: NodeJS.ProcessEnv, state: string): Promise<Installation> {
  const local = (await readJsonFile<LocalFile>(state, 'local.json')) ?? {}
  const storedAdmin = (await readJsonFile<SecretsFile>(state, 'secrets.json'))?.admin
  const identityUrl = parseAddress('IDENTITY_URL', environment) ?? local.identityUrl ?? 'http://localhost:3001'
  const pipelineUrl = parseAddress('PIPELINE_URL', environment) ?? local.pipelineUrl ?? 'http://localhost:3002'
  const username = environment['SLUICE_ADMIN_USERNAME'] || local.admin?.username || storedAdmin?.username || 'admin'
  const found = { identityUrl, pipelineUrl, username }

  const password = environment['SLUICE_ADMIN_PASSWORD']
  if (password) return { ...found, password, passwordFrom: 'SLUICE_ADMIN_PASSWORD' }
  const isLocalAddress = identityUrl === (local.identityUrl ?? 'http://localhost:3001')
  if (isLocalAddress && storedAdmin?.password && storedAdmin.username === username)
    return { ...found, password: storedAdmin.password, passwordFrom: 'secrets.json' }
  return { ...found, password: undefined, passwordFrom: 'terminal' }
}

/** Returns undefined if the file is missing or unreadable: the other sources of the settings are used then. */
async function readJsonFile<T>(folder: string, name: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, name), 'utf8')) as T
  } catch {
    return undefined
  }
}

function parseAddress(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  const address = environment[name]
  if (!address) return undefined
  if (!/^https?:\/\//.test(address) || !URL.canParse(address))
    throw new UsageError(`${name} must be an address such as http://localhost:3001, not "${address}".`)
  return address.replace(/\/+$/, '')
}
