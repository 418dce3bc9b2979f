import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from './demo-arguments.ts'

/** The addresses of an installation, and its administrator. */
export interface Installation {
  identityUrl: string
  pipelineUrl: string
  username: string
  /** Undefined if the user must enter it. */
  password: string | undefined
  /** The source of the password, for the message about a wrong one. */
  passwordFrom: 'SLUICE_ADMIN_PASSWORD' | 'secrets.json' | 'terminal'
}

interface Local {
  identityUrl?: string
  pipelineUrl?: string
  admin?: { username?: string }
}

interface Secrets {
  admin?: { username?: string; password?: string }
}

/**
 * Finds the installation by the environment, or else by the files of `npm start`. The password of `npm start` is not
 * sent to an address from the environment. Throws `UsageError`.
 */
export async function findInstallation(environment: NodeJS.ProcessEnv, state: string): Promise<Installation> {
  const local = (await jsonIn<Local>(state, 'local.json')) ?? {}
  const kept = (await jsonIn<Secrets>(state, 'secrets.json'))?.admin
  const identityUrl = addressOf('IDENTITY_URL', environment) ?? local.identityUrl ?? 'http://localhost:3001'
  const pipelineUrl = addressOf('PIPELINE_URL', environment) ?? local.pipelineUrl ?? 'http://localhost:3002'
  const username = environment['SLUICE_ADMIN_USERNAME'] || local.admin?.username || kept?.username || 'admin'
  const found = { identityUrl, pipelineUrl, username }

  const given = environment['SLUICE_ADMIN_PASSWORD']
  if (given) return { ...found, password: given, passwordFrom: 'SLUICE_ADMIN_PASSWORD' }
  const ours = identityUrl === (local.identityUrl ?? 'http://localhost:3001')
  if (ours && kept?.password && kept.username === username)
    return { ...found, password: kept.password, passwordFrom: 'secrets.json' }
  return { ...found, password: undefined, passwordFrom: 'terminal' }
}

/** Returns undefined if the file is missing or unreadable: the other sources of the settings are used then. */
async function jsonIn<T>(folder: string, name: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, name), 'utf8')) as T
  } catch {
    return undefined
  }
}

function addressOf(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  const given = environment[name]
  if (!given) return undefined
  if (!/^https?:\/\//.test(given) || !URL.canParse(given))
    throw new UsageError(`${name} must be an address such as http://localhost:3001, not "${given}".`)
  return given.replace(/\/+$/, '')
}
