import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import pc from 'picocolors'
import { root, state } from '../paths.ts'
import { reportFailure } from '../user-error.ts'
import { workspaces } from '../workspaces.ts'
import { readChildProcessorSeconds } from './processor-time.ts'
import { programsFolder } from './install-npm-packages.ts'
import { writeDurations } from './test-durations.ts'
import { bundlesFolder, prepareTests } from './prepare-tests.ts'
import {
  formatClosingLines,
  emptyResults,
  formatSkippedTests,
  formatSlowestFiles,
  type TestResults,
} from './test-results.ts'
import { jestArguments, selectsFiles } from './jest-arguments.ts'
import { startTestRun } from './test-run.ts'
import { startTemporaryPostgres } from './temporary-postgres.ts'

/**
 * `npm test [-- packages, file patterns or Jest options]` starts a temporary PostgreSQL and runs the tests. The last
 * line has the counts of the tests. The exit code is 0 if at least one test ran and none failed.
 */
const runTests = async (): Promise<void> => {
  const startedAt = performance.now()
  const args = process.argv.slice(2).filter((arg) => !ownOptions.includes(arg))
  const [writesDurations, long, inspect] = ownOptions.map((option) => process.argv.includes(option))
  await prepareTests()
  const folder = join(state, 'test-results')
  const results = join(folder, `${process.pid}.json`)
  await mkdir(folder, { recursive: true })
  let passed: boolean
  {
    await using postgres = await startTemporaryPostgres()
    await using testRun = await startTestRun()
    const selection = jestArguments(long && !selectsFiles(args) ? [...listLongRunFiles(), ...args] : args, workspaces())
    passed = await runJest(
      process.execPath,
      [...(inspect ? inspectFlags : []), ...jestCommand, ...selection, ...(inspect ? inspectJestFlags : [])],
      {
        ...process.env,
        ...testRun.environment,
        TEST_DATABASE_URL: postgres.url('postgres'),
        SLUICE_TEST_RESULTS: results,
        SLUICE_TEST_PROGRAMS: programsFolder,
        SLUICE_TEST_BUILT: bundlesFolder,
        ...(long && { SLUICE_LONG: '1' }),
        ...(pc.isColorSupported && { FORCE_COLOR: '1' }),
      },
    )
    if (process.env['SLUICE_KEEP_DATABASES'] && !interrupted) await waitForInterrupt()
  }
  const found = await readFile(results, 'utf8').catch(() => undefined)
  await rm(results, { force: true })
  const summary = found === undefined ? emptyResults : (JSON.parse(found) as TestResults)
  if (writesDurations && !interrupted) await writeDurations(summary)
  if (interrupted) console.error('Interrupted: not all tests ran.')
  else if (found === undefined) console.error('Jest wrote no results. See its output above.')
  else if (summary.passed + summary.failed === 0)
    console.error('No test ran, because no file or no test in the files matches the arguments.')
  process.exitCode = passed && !interrupted && summary.failed === 0 && summary.passed > 0 ? 0 : 1
  console.log(formatReport(summary, (performance.now() - startedAt) / 1_000).join('\n'))
}

/** All cores run tests, so each process collects garbage in one thread. */
const jestCommand = ['--single-threaded-gc', join(root, 'node_modules/jest/bin/jest.js')]

/** Options of this command. `npm run test:durations` and `npm run test:long` use the first two. */
const ownOptions = ['--write-durations', '--long', '--inspect']

/**
 * For --inspect: Node waits for a debugger. Jest runs in one process, with a timeout that breakpoints do not exceed.
 */
const inspectFlags = ['--inspect-wait=9230']
const inspectJestFlags = ['--runInBand', '--testTimeout=86400000']

/**
 * Returns the test files that --long runs with more draws or more tests (packages/testing/src/random-case-count.ts and
 * long-test-runs.ts).
 */
const listLongRunFiles = (): string[] =>
  globSync(['apps/**/*.test.ts', 'infra/**/*.test.ts', 'packages/**/*.test.ts'], {
    cwd: root,
    exclude: ['**/node_modules'],
  }).filter((file) => /drawCount\(|isLongRun|longRunOnly/.test(readFileSync(join(root, file), 'utf8')))

let interrupted = false

/** Keeps the server running, because the databases of SLUICE_KEEP_DATABASES end with it. */
const waitForInterrupt = async (): Promise<void> => {
  console.log('The test server runs until you press Ctrl-C.')
  const keepAlive = setInterval(() => {}, 60_000)
  await new Promise<void>((resolve) => process.once('SIGINT', () => resolve()))
  clearInterval(keepAlive)
}

/** Runs Jest and returns whether its exit code is 0. A signal to this process ends Jest. */
const runJest = (command: string, args: string[], env: NodeJS.ProcessEnv): Promise<boolean> => {
  const child = spawn(command, args, { cwd: root, env, stdio: 'inherit' })
  const interrupt = () => {
    interrupted = true
    child.kill('SIGTERM')
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, interrupt)
  return new Promise<boolean>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code === 0))
  }).finally(() => signals.forEach((signal) => process.off(signal, interrupt)))
}

const formatReport = (results: TestResults, seconds: number): string[] => {
  const skipped = formatSkippedTests(results)
  const processor = readChildProcessorSeconds()
  const cores = availableParallelism()
  return [
    'Slowest files:',
    ...formatSlowestFiles(results),
    ...(skipped.length > 0 ? ['Skipped:', ...skipped] : []),
    ...(processor === undefined
      ? []
      : [
          `Processor time of the tests: ${processor.toFixed(0)} s in ${seconds.toFixed(0)} s, ` +
            `${((100 * processor) / seconds / cores).toFixed(0)} % of ${cores} cores`,
        ]),
    ...formatClosingLines(results),
  ]
}

await runTests().catch(reportFailure)
