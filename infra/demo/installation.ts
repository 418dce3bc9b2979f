import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Misuse } from './arguments.ts'

/** Where Sluice runs, and what is known of its administrator. */
export interface Installation {
  identityUrl: string
  pipelineUrl: string
  username: string
  /** Undefined: has to be asked for. */
  password: string | undefined
  /** For a sentence about a password that is refused. */
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
 * From the environment, else from what `npm start` left in the state folder. The password made by `npm start` is only
 * for the installation that it started: it is not sent to an address from the environment. Throws `Misuse`.
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

/** Absent, unreadable and damaged are the same here: there is another way to say what it would have said. */
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
    throw new Misuse(`${name} must be an address such as http://localhost:3001, not "${given}".`)
  return given.replace(/\/+$/, '')
}
