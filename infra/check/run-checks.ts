import { spawn } from 'node:child_process'
import { join } from 'node:path'
import pc from 'picocolors'
import { root } from '../paths.ts'
import { reportFailure } from '../user-error.ts'
import { workspaces } from '../workspaces.ts'
import { measureCounts } from './code-metrics/code-metrics.ts'
import { readProductSources } from './code-metrics/product-sources.ts'
import { readLimits, findExceededLimits, formatCounts } from './code-metrics/metric-limits.ts'
import { findBadFileNames } from './file-names.ts'
import { type Part, selectedParts } from './selected-packages.ts'

/**
 * `npm run check [-- package …]` runs all static checks in parallel: types, lint, format, generated files, counts and
 * file names. Ends with exit code 1 if a check fails. With packages, it skips the checks of the whole repository:
 * generated files and counts.
 */

type CheckResult = { passed: boolean; output: string }
/** A static check. `fix` tells the developer what to do if it fails. */
type Check = { name: string; fix: string; run: () => Promise<CheckResult> }

/** Runs a program in the root folder. Passes if the exit code is 0. */
const runCommand = (program: string, ...args: string[]): Promise<CheckResult> => {
  const env = {
    ...process.env,
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
    ...(process.stdout.isTTY && { FORCE_COLOR: '1' }),
  }
  const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  return new Promise((resolve) => {
    child.once('error', ({ message }) => resolve({ passed: false, output: message }))
    child.once('close', (code) => resolve({ passed: code === 0, output }))
  })
}

/** Combines results: passes if all pass, and returns the output of those that failed. */
const combineResults = async (...commands: Promise<CheckResult>[]): Promise<CheckResult> => {
  const results = await Promise.all(commands)
  const failed = results.filter(({ passed }) => !passed)
  return { passed: failed.length === 0, output: failed.map(({ output }) => output).join('\n') }
}

/** Checks the types of packages. Turbo caches the result of each package by its sources and its dependencies. */
const checkPackageTypes = (packages: readonly string[]): Promise<CheckResult> =>
  runCommand(
    'turbo',
    'run',
    'types',
    '--ui=stream',
    '--output-logs=errors-only',
    '--log-order=grouped',
    '--log-prefix=none',
    '--continue',
    ...packages.map((name) => `--filter=${name}`),
  )

/**
 * Checks the types of a project with one checker. Several checkers would each check the shared types again, and the
 * other checks use the other cores.
 */
const checkProjectTypes = (project: string): Promise<CheckResult> =>
  runCommand('tsc', '-p', project, '--checkers', '1', ...(pc.isColorSupported ? ['--pretty'] : []))

/** Without parts, checks all packages in one program, so that a package which others import is checked once. */
const checkTypes = (parts: readonly Part[]): Promise<CheckResult> => {
  if (parts.length === 0) return checkProjectTypes('infra/check/tsconfig.all.json')
  const packages = parts.flatMap(({ workspace }) => workspace ?? [])
  return combineResults(
    ...(packages.length > 0 ? [checkPackageTypes(packages)] : []),
    ...(packages.length < parts.length ? [checkProjectTypes('.')] : []),
  )
}

const checkFileNames = (folders: readonly string[]): Promise<CheckResult> => {
  const badNames = findBadFileNames().filter(
    (file) => folders.length === 0 || folders.some((folder) => file.startsWith(`${folder}/`)),
  )
  return Promise.resolve({ passed: badNames.length === 0, output: badNames.join('\n') })
}

const checkCounts = (): Promise<CheckResult> => {
  const counts = measureCounts(readProductSources())
  const exceeded = findExceededLimits(counts, readLimits())
  return Promise.resolve({ passed: exceeded.length === 0, output: [formatCounts(counts), '', ...exceeded].join('\n') })
}

/** Returns the checks of the given parts, or of the whole repository without parts. */
const selectChecks = (parts: readonly Part[]): Check[] => {
  const folders = parts.map(({ folder }) => folder)
  const wholeRepositoryChecks = [
    {
      name: 'generated files',
      fix: 'run "npm run generate"',
      run: () => runCommand(process.execPath, join(root, 'infra/generate/generate.ts'), '--check'),
    },
    {
      name: 'counts',
      fix: 'lower the counts above their limit with plainer words or fewer parts',
      run: checkCounts,
    },
  ]
  return [
    { name: 'types', fix: 'fix the errors that tsc reports', run: () => checkTypes(parts) },
    {
      name: 'lint',
      fix: 'run "npm run format" to fix some of the findings',
      run: () => runCommand('oxlint', '--type-aware', '--deny-warnings', ...folders),
    },
    {
      name: 'format',
      fix: 'run "npm run format"',
      run: () => runCommand('biome', 'format', '--max-diagnostics=20', ...(folders.length > 0 ? folders : ['.'])),
    },
    ...(parts.length === 0 ? wholeRepositoryChecks : []),
    { name: 'names', fix: 'give the file a specific name in kebab-case', run: () => checkFileNames(folders) },
  ]
}

/** Runs a check and prints its result. Returns whether it passed. */
const runAndReport = async ({ name, fix, run }: Check): Promise<boolean> => {
  const startedAt = performance.now()
  const { passed, output } = await run()
  const time = pc.dim(`${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  if (passed) console.log(`${pc.green('✓')} ${name} ${time}`)
  else console.log(`${pc.red('✗')} ${pc.bold(name)} ${time}\n\n${output.trim()}\n\n  ${pc.yellow('→')} ${fix}\n`)
  return passed
}

const runChecks = async (): Promise<void> => {
  const parts = selectedParts(process.argv.slice(2), workspaces())
  const passed = await Promise.all(selectChecks(parts).map(runAndReport))
  process.exitCode = passed.every(Boolean) ? 0 : 1
}

await runChecks().catch(reportFailure)
