import { spawnSync } from 'node:child_process'
import { root } from '../paths.ts'

/** `npm run format [-- path …]`: mends the format, and what lint can mend without changing what the code does. */
const paths = process.argv.slice(2)
const run = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { cwd: root, stdio: 'inherit' }).status === 0

const formatted = run('biome', 'format', '--write', ...(paths.length > 0 ? paths : ['.']))
const mended = run('oxlint', '--type-aware', '--fix', ...paths)
process.exitCode = formatted && mended ? 0 : 1
