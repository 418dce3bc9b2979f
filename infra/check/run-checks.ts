import { spawn } from 'node:child_process'
import { join } from 'node:path'
import pc from 'picocolors'
import { root } from '../paths.ts'
import { refuse } from '../user-error.ts'
import { workspaces } from '../workspaces.ts'
import { countsOf } from './code-metrics/code-metrics.ts'
import { productSources } from './code-metrics/product-sources.ts'
import { readRecorded, risen, tableOf } from './code-metrics/metric-limits.ts'
import { badNames } from './file-names.ts'
import { type Part, selectedParts } from './selected-parts.ts'

/**
 * `npm run check [-- package …]`: everything that is said about the code without running it, all at once; exit code 1
 * when one objects. With packages the generated files are left out: they depend on the whole repository.
 */

type Outcome = { good: boolean; said: string }
type Check = { name: string; mend: string; run: () => Promise<Outcome> }

const command = (program: string, ...args: string[]): Promise<Outcome> => {
  const env = {
    ...process.env,
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
    ...(process.stdout.isTTY && { FORCE_COLOR: '1' }),
  }
  const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  return new Promise((resolve) => {
    child.once('error', ({ message }) => resolve({ good: false, said: message }))
    child.once('close', (code) => resolve({ good: code === 0, said }))
  })
}

const all = async (...commands: Promise<Outcome>[]): Promise<Outcome> => {
  const outcomes = await Promise.all(commands)
  const bad = outcomes.filter(({ good }) => !good)
  return { good: bad.length === 0, said: bad.map(({ said }) => said).join('\n') }
}

/** Cached for each package, by its sources and those of the packages that it depends on. */
const turboTypes = (packages: readonly string[]): Promise<Outcome> =>
  command(
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

/** With one checker: several check what they share each for itself, and the other checks use the other cores. */
const tsc = (project: string): Promise<Outcome> =>
  command('tsc', '-p', project, '--checkers', '1', ...(pc.isColorSupported ? ['--pretty'] : []))

/** All packages in one program: a package that others import is read and checked once. */
const types = (parts: readonly Part[]): Promise<Outcome> => {
  if (parts.length === 0) return tsc('infra/check/tsconfig.all.json')
  const packages = parts.flatMap(({ workspace }) => workspace ?? [])
  return all(
    ...(packages.length > 0 ? [turboTypes(packages)] : []),
    ...(packages.length < parts.length ? [tsc('.')] : []),
  )
}

const names = (folders: readonly string[]): Promise<Outcome> => {
  const bad = badNames().filter(
    (file) => folders.length === 0 || folders.some((folder) => file.startsWith(`${folder}/`)),
  )
  return Promise.resolve({ good: bad.length === 0, said: bad.join('\n') })
}

const counts = (): Promise<Outcome> => {
  const found = countsOf(productSources())
  const worse = risen(found, readRecorded())
  return Promise.resolve({ good: worse.length === 0, said: [tableOf(found), '', ...worse].join('\n') })
}

/** The checks of some parts, or of everything where none are named. */
const checksOf = (parts: readonly Part[]): Check[] => {
  const folders = parts.map(({ folder }) => folder)
  const generated = {
    name: 'generated files',
    mend: 'run "npm run generate"',
    run: () => command(process.execPath, join(root, 'infra/generate/generate.ts'), '--check'),
  }
  return [
    { name: 'types', mend: 'mend what tsc says', run: () => types(parts) },
    {
      name: 'lint',
      mend: '"npm run format" mends some of it',
      run: () => command('oxlint', '--type-aware', '--deny-warnings', ...folders),
    },
    {
      name: 'format',
      mend: 'run "npm run format"',
      run: () => command('biome', 'format', '--max-diagnostics=20', ...(folders.length > 0 ? folders : ['.'])),
    },
    ...(parts.length === 0 ? [generated] : []),
    ...(parts.length === 0
      ? [{ name: 'counts', mend: 'use plainer words or fewer parts; the figures may fall, not rise', run: counts }]
      : []),
    { name: 'names', mend: 'name it after what it holds', run: () => names(folders) },
  ]
}

const report = async ({ name, mend, run }: Check): Promise<boolean> => {
  const began = performance.now()
  const { good, said } = await run()
  const time = pc.dim(`${((performance.now() - began) / 1000).toFixed(1)} s`)
  if (good) console.log(`${pc.green('✓')} ${name} ${time}`)
  else console.log(`${pc.red('✗')} ${pc.bold(name)} ${time}\n\n${said.trim()}\n\n  ${pc.yellow('→')} ${mend}\n`)
  return good
}

const check = async (): Promise<void> => {
  const parts = selectedParts(process.argv.slice(2), workspaces())
  const outcomes = await Promise.all(checksOf(parts).map(report))
  process.exitCode = outcomes.every(Boolean) ? 0 : 1
}

await check().catch(refuse)
