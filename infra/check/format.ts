import { spawnSync } from 'node:child_process'
import { root } from '../paths.ts'

/** `npm run format [-- path …]` formats files and applies the safe fixes of the linter. */
const paths = process.argv.slice(2)
const run = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { cwd: root, stdio: 'inherit' }).status === 0

const formatted = run('biome', 'format', '--write', ...(paths.length > 0 ? paths : ['.']))
const fixed = run('oxlint', '--type-aware', '--fix', ...paths)
process.exitCode = formatted && fixed ? 0 : 1
