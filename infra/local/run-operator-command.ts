import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundledPrograms } from '../bundle/bundled-programs.ts'
import { root, state } from '../paths.ts'
import { UserError, reportFailure } from '../user-error.ts'
import { databaseUrls } from './databases.ts'
import { programEnvironment } from './program-environment.ts'
import { readOrCreateSecrets } from './secrets.ts'
import { readSettings } from './settings.ts'

/** Programs for operators, by service. */
const operatorPrograms: Readonly<Record<string, readonly string[]>> = {
  identity: ['reseal-secrets', 'rotate-keys', 'remove-second-factor'],
  pipeline: ['reseal-secrets'],
}

const usage = `Usage: npm run operate -- <service> <program> [arguments]

Runs a program for operators with the settings of the Sluice that "npm start" runs on this machine:
${Object.entries(operatorPrograms)
  .flatMap(([app, names]) => names.map((name) => `  npm run operate -- ${app} ${name}`))
  .join('\n')}`

/** Runs the program in this terminal, and returns its exit code. Throws UserError. */
async function operate([app = '', name = '', ...args]: string[]): Promise<number> {
  if (!operatorPrograms[app]?.includes(name)) throw new UserError(usage)
  const port = await readFile(join(state, 'postgres/port'), 'utf8').catch(() => undefined)
  // The file exists while everything runs, PostgreSQL included.
  if (port === undefined || !existsSync(join(state, 'local.json')))
    throw new UserError('Sluice is not running. Start it with "npm start" in another terminal, then run this again.')
  const secrets = await readOrCreateSecrets(state)
  const env = programEnvironment(readSettings(process.env, root, state), secrets, databaseUrls(Number(port), secrets))
  const file = bundledPrograms(root, join(state, 'built')).file(app, name)
  const child = spawn(process.execPath, ['--enable-source-maps', file, ...args], { stdio: 'inherit', env })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

try {
  process.exitCode = await operate(process.argv.slice(2))
} catch (error) {
  reportFailure(error)
}
