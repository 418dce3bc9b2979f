import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Replacements of the programs in apps/<app>/bin for the tests of `npm start`. They print the same lines, do nothing
 * else, and start within a second.
 */

const serve = (portName: string): string => `
import { createServer } from 'node:http'
console.log(JSON.stringify({ msg: 'started', secret: typeof process.env.SERVICE_SECRET, admin: typeof process.env.SLUICE_ADMIN_PASSWORD, sourceMaps: process.sourceMapsEnabled }))
const server = createServer((request, response) => {
  if (request.url === '/die') { process.stderr.write('exit requested\\n'); process.exit(3) }
  response.end(String(process.pid))
}).listen(Number(process.env.${portName}), process.env.LISTEN_HOST)
process.on('SIGTERM', () => { console.log('{"msg":"stopped"}'); server.close(() => process.exit()); server.closeAllConnections() })
`
const migrate = (database: string): string => `
import pg from ${JSON.stringify(import.meta.resolve('pg'))}
const client = new pg.Client({ connectionString: process.env.${database} })
await client.connect()
await client.query('create table if not exists migrations (at timestamptz default now())')
await client.query('insert into migrations default values')
await client.end()
`
const admin = `
import pg from ${JSON.stringify(import.meta.resolve('pg'))}
const client = new pg.Client({ connectionString: process.env.IDENTITY_DATABASE_URL })
await client.connect()
const { rows } = await client.query('select count(*)::int as starts from migrations')
await client.end()
console.log(JSON.stringify({ username: 'admin', ...(rows[0].starts === 1 && !process.env.SLUICE_ADMIN_PASSWORD && { password: 'made up here' }) }))
`

/**
 * Creates a folder with the replacements and an infra/local/start.ts that runs them. `programs` overrides some of them.
 */
export const createStandInFolder = (programs: Record<string, string> = {}): string => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-local-'))
  const files: Record<string, string> = {
    'apps/identity/bin/migrate.ts': migrate('IDENTITY_DATABASE_URL'),
    'apps/identity/bin/create-first-admin.ts': admin,
    'apps/identity/bin/serve.ts': serve('IDENTITY_PORT'),
    'apps/pipeline/bin/migrate.ts': migrate('PIPELINE_DATABASE_URL'),
    'apps/pipeline/bin/prepare-warehouse.ts': `if (!process.env.WAREHOUSE_SUPERUSER_URL) process.exit(1)`,
    'apps/pipeline/bin/serve.ts': serve('PIPELINE_PORT'),
    'apps/pipeline/bin/run-worker.ts': serve('WORKER_PORT'),
    'infra/local/start.ts': `
import { runLocal } from ${JSON.stringify(join(import.meta.dirname, 'run-local.ts'))}
import { readSettings } from ${JSON.stringify(join(import.meta.dirname, 'settings.ts'))}
import { programSources } from ${JSON.stringify(join(import.meta.dirname, '../bundle/bundled-programs.ts'))}
import { reportFailure } from ${JSON.stringify(join(import.meta.dirname, '../user-error.ts'))}
try { await runLocal(readSettings(process.env, ${JSON.stringify(folder)}, ${JSON.stringify(join(folder, 'state'))}), programSources(${JSON.stringify(folder)}), { restartOnChange: process.argv.includes('dev') }) } catch (error) { reportFailure(error) }
process.exit()`,
    'apps/identity/package.json': '{"name":"@stand-in/identity","type":"module"}',
    'apps/pipeline/package.json':
      '{"name":"@stand-in/pipeline","type":"module","dependencies":{"@stand-in/words":"*"}}',
    'packages/words/package.json': '{"name":"@stand-in/words","type":"module"}',
    ...programs,
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  // As root, this also tests the folder below /var/lib: PostgreSQL's user cannot enter a folder of mkdtemp.
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}

/** A running start, and its output so far. */
export type StartedStandIns = {
  child: ChildProcess
  output: () => string
  ended: Promise<number | null>
  waitForOutput: (text: string) => Promise<void>
}

/** Starts like `npm start`, or like `npm run dev` with the argument `dev`. */
export const startStandInPrograms = (folder: string, env: NodeJS.ProcessEnv, ...args: string[]): StartedStandIns => {
  const child = spawn(process.execPath, [join(folder, 'infra/local/start.ts'), ...args], {
    env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', FORCE_COLOR: undefined, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const waitForOutput = async (text: string): Promise<void> => {
    for (
      const end = Date.now() + 120_000;
      !output.includes(text);
      await new Promise((resolve) => setTimeout(resolve, 20))
    ) {
      if (Date.now() > end || child.exitCode !== null) throw new Error(`"${text}" was not printed: ${output}`)
    }
  }
  return { child, output: () => output, ended, waitForOutput }
}
