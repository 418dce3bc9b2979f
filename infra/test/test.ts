import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pc from 'picocolors'
import { bringUpToDate } from '../bundle/up-to-date.ts'
import { root, state } from '../paths.ts'
import { refuse } from '../refusal.ts'
import { workspaces } from '../workspaces.ts'
import { closingLine, slowest, sumOf } from './counts.ts'
import { demandPackages } from './debian-packages.ts'
import { demandPrograms, programsFolder } from './npm-programs.ts'
import { selection } from './selection.ts'
import { throwAwayPostgres } from './throw-away-postgres.ts'

/**
 * `npm test [-- package or jest arguments]`: every test of the repository, on a PostgreSQL of its own. The last line is
 * the sum over all packages; exit code 0 only when at least one test ran and none failed.
 */

const running = new Set<ReturnType<typeof spawn>>()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted = true
    for (const child of running) child.kill('SIGTERM')
  })
}

const run = (command: string, args: string[], env: NodeJS.ProcessEnv): Promise<boolean> => {
  const child = spawn(command, args, { cwd: root, env, stdio: 'inherit' })
  running.add(child)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      running.delete(child)
      resolve(code === 0)
    })
  })
}

const test = async (): Promise<void> => {
  const { packages, infra, jest } = selection(process.argv.slice(2), workspaces())
  const built = join(state, 'built-for-tests')
  if (packages.some((name) => ['@sluice/identity', '@sluice/pipeline'].includes(name))) {
    await demandPackages()
    await bringUpToDate(root, built)
  }
  if (packages.includes('@sluice/pipeline')) await demandPrograms()
  const counts = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  await using postgres = await throwAwayPostgres()
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    TEST_DATABASE_URL: postgres.url('postgres'),
    SLUICE_TEST_COUNTS: counts,
    SLUICE_TEST_PROGRAMS: programsFolder,
    SLUICE_TEST_BUILT: built,
    NODE_OPTIONS: '--experimental-vm-modules --disable-warning=ExperimentalWarning',
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
    ...(pc.isColorSupported && { FORCE_COLOR: '1' }),
  }
  // Grouped: what two packages say at the same time does not mix. Continued: one failure does not hide another.
  const turbo = [
    'run',
    'test',
    '--ui=stream',
    '--log-order=grouped',
    '--log-prefix=none',
    '--continue',
    '--concurrency=2',
  ]
  const filters = packages.map((name) => `--filter=${name}`)
  const runs = await Promise.all([
    packages.length === 0 || run('turbo', [...turbo, ...filters, '--', ...jest], env),
    !infra || run('jest', ['--config', 'jest.config.js', ...jest], env),
  ])
  const sum = sumOf(counts)
  await rm(counts, { recursive: true })
  if (interrupted) console.error('Interrupted: not all tests ran.')
  else if (sum.passed + sum.failed + sum.skipped === 0) console.error('No test ran: no file matches the arguments.')
  const good = !interrupted && runs.every(Boolean) && sum.failed === 0 && sum.passed > 0
  process.exitCode = good ? 0 : 1
  process.on('exit', () => console.log(`${slowest(sum)}${closingLine(sum)}`))
}

await test().catch(refuse)
