import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { testDatabase } from '@sluice/testing'
import { goodPassword } from './app-under-test.ts'
import { freePort } from '@sluice/testing/free-port'
import { programArguments, programEnvironment } from '@sluice/testing/app-program-arguments'

type Environment = Record<string, string>

const apps = join(import.meta.dirname, '../..')

/** Both services as separate processes, as in production. */
export interface Installation extends AsyncDisposable {
  /** The URLs of the processes of the identity service, which share a database. */
  identity: string[]
  /** The URL of the pipeline service, or an empty string if it was not started. */
  pipeline: string
  /** The first admin has the username `admin` and the password `goodPassword`. */
  identityDatabase: string
  /** Runs a command of the identity service, and returns its output. */
  command(file: string, ...flags: string[]): Promise<string>
}

interface InstallationOptions {
  identities?: number
  pipeline?: boolean
  /** Further settings of the identity service. */
  settings?: Environment
}

/** Starts processes of the identity service, and optionally one of the pipeline service. */
export async function startInstallation({
  identities = 1,
  pipeline = false,
  settings = {},
}: InstallationOptions = {}): Promise<Installation> {
  await using cleanup = new AsyncDisposableStack()
  const database = cleanup.use(await testDatabase({ migrations: join(apps, 'identity/migrations') }))
  const ports = await Promise.all(Array.from({ length: identities }, freePort))
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  const shared: Environment = {
    IDENTITY_PUBLIC_URL: urls[0]!,
    ALLOWED_HOSTS: ports.map((port) => `127.0.0.1:${port}`).join(','),
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    SERVICE_SECRET: randomBytes(24).toString('hex'),
  }
  const identity: Environment = {
    ...shared,
    IDENTITY_DATABASE_URL: database.url,
    SLUICE_ADMIN_PASSWORD: goodPassword,
    ADMIN_SETS_PASSWORDS: 'true',
    ...settings,
  }
  await assertExited(startProgram('identity/bin/create-first-admin.ts', identity))
  await Promise.all(
    ports.map(async (port, index) => {
      const program = cleanup.use(startProgram('identity/bin/serve.ts', { ...identity, IDENTITY_PORT: String(port) }))
      await waitUntilReady(program, urls[index]!)
    }),
  )
  const pipelineUrl = pipeline ? await startPipeline({ ...shared, IDENTITY_URL: urls[0]! }, cleanup) : ''
  const all = cleanup.move()
  return {
    identity: urls,
    pipeline: pipelineUrl,
    identityDatabase: database.url,
    async command(file, ...flags) {
      const program = startProgram(file, identity, flags)
      await assertExited(program)
      return program.output()
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** Starts the pipeline service without a worker, because these tests run no loads. */
async function startPipeline(shared: Environment, cleanup: AsyncDisposableStack): Promise<string> {
  const database = cleanup.use(await testDatabase())
  const files = await mkdtemp(join(tmpdir(), 'sluice-pipeline-'))
  cleanup.defer(() => rm(files, { recursive: true }))
  const port = await freePort()
  const environment = {
    ...shared,
    PIPELINE_DATABASE_URL: database.url,
    WAREHOUSE_DATABASE_URL: process.env['TEST_DATABASE_URL']!,
    PIPELINE_PUBLIC_URL: `http://127.0.0.1:${port}`,
    PIPELINE_PORT: String(port),
    FILES_DIRECTORY: files,
  }
  await assertExited(startProgram('pipeline/bin/migrate.ts', environment))
  await waitUntilReady(cleanup.use(startProgram('pipeline/bin/serve.ts', environment)), environment.PIPELINE_PUBLIC_URL)
  return environment.PIPELINE_PUBLIC_URL
}

interface Program extends AsyncDisposable {
  output(): string
  code: Promise<number | null>
}

export function startProgram(file: string, environment: Environment, flags: string[] = []): Program {
  const child = spawn(process.execPath, programArguments(file, ...flags), {
    env: { ...programEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void (output += text))
  const code = once(child, 'close').then(([code]) => code as number | null)
  return {
    output: () => output,
    code,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await code
    },
  }
}

async function assertExited({ code, output }: Program): Promise<void> {
  if ((await code) !== 0) throw new Error(output())
}

async function waitUntilReady({ code, output }: Program, url: string): Promise<void> {
  let hasExited = false
  void code.then(() => (hasExited = true))
  for (const until = Date.now() + 120_000; ; await sleep(50)) {
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return
    if (hasExited || Date.now() > until) throw new Error(`${url} is not ready:\n${output()}`)
  }
}

/** Sends a request with a JSON body to a path below `/api/v1`. */
export async function sendRequest(
  url: string,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  { token, body }: { token?: string; body?: object } = {},
): Promise<{ status: number; body: any }> {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text ? JSON.parse(text) : undefined }
}
