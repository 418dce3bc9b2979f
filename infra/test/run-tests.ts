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
import { bundles, prepare } from './prepare-tests.ts'
import { formatClosingLines, emptyResults, formatSkippedTests, formatSlowestFiles, type Results } from './test-results.ts'
import { jestArguments, selectsFiles } from './jest-arguments.ts'
import { startTestRun } from './test-run.ts'
import { startTemporaryPostgres } from './temporary-postgres.ts'

/**
 * `npm test [-- packages, file patterns or Jest options]`: the tests of the repository on a PostgreSQL of their own, which
 * is there for as long as Jest runs, also with --watch. The last line counts the tests; the exit code is 0 only when at
 * least one test ran and none failed.
 */
const test = async (): Promise<void> => {
  const began = performance.now()
  const args = process.argv.slice(2).filter((arg) => !ownOptions.includes(arg))
  const [writesDurations, long, inspect] = ownOptions.map((option) => process.argv.includes(option))
  await prepare()
  const folder = join(state, 'test-results')
  const results = join(folder, `${process.pid}.json`)
  await mkdir(folder, { recursive: true })
  let passed: boolean
  {
    await using postgres = await startTemporaryPostgres()
    await using testRun = await startTestRun()
    const selection = jestArguments(long && !selectsFiles(args) ? [...filesOfLongRuns(), ...args] : args, workspaces())
    passed = await run(
      process.execPath,
      [...(inspect ? debugged : []), ...jestCommand, ...selection, ...(inspect ? inOneProcess : [])],
      {
        ...process.env,
        ...testRun.environment,
        TEST_DATABASE_URL: postgres.url('postgres'),
        SLUICE_TEST_RESULTS: results,
        SLUICE_TEST_PROGRAMS: programsFolder,
        SLUICE_TEST_BUILT: bundles,
        ...(long && { SLUICE_LONG: '1' }),
        ...(pc.isColorSupported && { FORCE_COLOR: '1' }),
      },
    )
    if (process.env['SLUICE_KEEP_DATABASES'] && !interrupted) await waitForInterrupt()
  }
  const found = await readFile(results, 'utf8').catch(() => undefined)
  await rm(results, { force: true })
  const summary = found === undefined ? emptyResults : (JSON.parse(found) as Results)
  if (writesDurations && !interrupted) await writeDurations(summary)
  if (interrupted) console.error('Interrupted: not all tests ran.')
  else if (found === undefined) console.error('Jest wrote no results: see its output above.')
  else if (summary.passed + summary.failed === 0)
    console.error('No test ran: no file, or no test in these files, matches the arguments.')
  process.exitCode = passed && !interrupted && summary.failed === 0 && summary.passed > 0 ? 0 : 1
  console.log(report(summary, (performance.now() - began) / 1_000).join('\n'))
}

/** Every core runs tests, so each process collects garbage in one thread. */
const jestCommand = ['--single-threaded-gc', join(root, 'node_modules/jest/bin/jest.js')]

/** `npm run test:durations` and `npm run test:long` are this command with the first two options. */
const ownOptions = ['--write-durations', '--long', '--inspect']

/** For --inspect: Node waits for a debugger, and Jest starts no processes and has no time limit that a breakpoint exceeds. */
const debugged = ['--inspect-wait=9230']
const inOneProcess = ['--runInBand', '--testTimeout=86400000']

/** Returns the test files that --long runs with more draws or more tests (packages/testing/src/random-case-count.ts and long-run.ts). */
const filesOfLongRuns = (): string[] =>
  globSync(['apps/**/*.test.ts', 'infra/**/*.test.ts', 'packages/**/*.test.ts'], {
    cwd: root,
    exclude: ['**/node_modules'],
  }).filter((file) => /drawCount\(|isLongRun|longRunOnly/.test(readFileSync(join(root, file), 'utf8')))

let interrupted = false

/** The databases that SLUICE_KEEP_DATABASES keeps are there for as long as their server. */
const waitForInterrupt = async (): Promise<void> => {
  console.log('The test server runs until you press Ctrl-C.')
  const waiting = setInterval(() => {}, 60_000)
  await new Promise<void>((resolve) => process.once('SIGINT', () => resolve()))
  clearInterval(waiting)
}

/** Resolves to whether the program ended well. Signals to this process are passed on to it. */
const run = (command: string, args: string[], env: NodeJS.ProcessEnv): Promise<boolean> => {
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

const report = (results: Results, seconds: number): string[] => {
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

await test().catch(reportFailure)
