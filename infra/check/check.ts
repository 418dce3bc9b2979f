import { spawn } from 'node:child_process'
import { join } from 'node:path'
import pc from 'picocolors'
import { root } from '../paths.ts'
import { badNames } from './names.ts'

/** `npm run check`: everything that is said about the code without running it, all at once; exit code 1 when one objects. */

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

const both = async (...commands: Promise<Outcome>[]): Promise<Outcome> => {
  const outcomes = await Promise.all(commands)
  const bad = outcomes.filter(({ good }) => !good)
  return { good: bad.length === 0, said: bad.map(({ said }) => said).join('\n') }
}

const TURBO = [
  'run',
  'types',
  '--ui=stream',
  '--output-logs=errors-only',
  '--log-order=grouped',
  '--log-prefix=none',
  '--continue',
]

const checks: Check[] = [
  {
    name: 'types',
    mend: 'mend what tsc says',
    run: () =>
      both(command('turbo', ...TURBO), command('tsc', '-p', '.', ...(pc.isColorSupported ? ['--pretty'] : []))),
  },
  {
    name: 'lint',
    mend: '"npm run format" mends some of it',
    run: () => command('oxlint', '--type-aware', '--deny-warnings'),
  },
  { name: 'format', mend: 'run "npm run format"', run: () => command('biome', 'format', '--max-diagnostics=20', '.') },
  {
    name: 'generated files',
    mend: 'run "npm run generate"',
    run: () => command(process.execPath, join(root, 'infra/generate/generate.ts'), '--check'),
  },
  {
    name: 'names',
    mend: 'name it after what it holds',
    run: async () => {
      const bad = badNames()
      return { good: bad.length === 0, said: bad.join('\n') }
    },
  },
]

const report = async ({ name, mend, run }: Check): Promise<boolean> => {
  const began = performance.now()
  const { good, said } = await run()
  const time = pc.dim(`${((performance.now() - began) / 1000).toFixed(1)} s`)
  if (good) console.log(`${pc.green('✓')} ${name} ${time}`)
  else console.log(`${pc.red('✗')} ${pc.bold(name)} ${time}\n\n${said.trim()}\n\n  ${pc.yellow('→')} ${mend}\n`)
  return good
}

const outcomes = await Promise.all(checks.map(report))
process.exitCode = outcomes.every(Boolean) ? 0 : 1
