import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testDatabase, type TestDatabase } from '@sluice/testing'
import { freePort } from '@sluice/testing/free-port'
import { startProgram, type Program } from '../start-program.ts'
import { serveSwift } from '@sluice/testing/shared-openstack-swift'
import { keptAlive, sharedIdentity, type SharedIdentity } from './shared-identity-service.ts'

/** What has to be ended after the last test; `program` is whichever of its programs runs now. */
export interface Running {
  database: TestDatabase
  folder: string
  program: Program
}

/**
 * Starts the real identity service once for all test files, because starting it takes longer than most of them. Does
 * not wait until it is ready: each test file that needs the service waits.
 */
// oxlint-disable-next-line import/no-default-export -- as jest wants it
export default async function start(): Promise<void> {
  await serveSwift()
  // Tests without a database go without it; the others say what is missing.
  if (!process.env['TEST_DATABASE_URL']) return
  const migrations = join(import.meta.dirname, '../../../identity/migrations')
  const database = await keptAlive(testDatabase({ migrations }))
  const folder = await mkdtemp(join(tmpdir(), 'sluice-identity-'))
  const port = await freePort()
  const shared: SharedIdentity = {
    url: `http://127.0.0.1:${port}`,
    port,
    serviceSecret: randomBytes(24).toString('hex'),
    adminPassword: 'heron-sifts-41-pebbles',
    log: join(folder, 'identity.log'),
  }
  const environment = {
    IDENTITY_DATABASE_URL: database.url,
    IDENTITY_PORT: String(port),
    IDENTITY_PUBLIC_URL: shared.url,
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    SERVICE_SECRET: shared.serviceSecret,
    SLUICE_ADMIN_PASSWORD: shared.adminPassword,
    ADMIN_SETS_PASSWORDS: 'true',
    ACCESS_TOKEN_SECONDS: '900',
  }
  const log = createWriteStream(shared.log)
  const begin = (file: string) => startProgram(file, environment, (text) => log.write(text))
  const running: Running = { database, folder, program: begin('identity/bin/create-first-admin.ts') }
  void running.program.ended.then((code) => {
    if (code === 0) running.program = begin('identity/bin/serve.ts')
  })
  sharedIdentity.announce(shared)
  sharedIdentity.running = running
}
