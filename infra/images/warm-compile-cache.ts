/**
 * Fills NODE_COMPILE_CACHE with the compiled modules of commands, for an image whose root will be read-only:
 *
 *     NODE_COMPILE_CACHE=<folder> node warm-compile-cache.ts <command.ts>...
 *
 * Each command is started without any configuration: it loads every module, refuses to go on, and Node writes
 * what it compiled. Measured on the pipeline's API and worker: 0.7 s of processor time to the first request instead of
 * 1.0 s, 105 MB resident when idle instead of 125 MB.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

const cache = process.env['NODE_COMPILE_CACHE'] ?? ''
const environment = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: cache, NODE_ENV: 'production' }

for (const command of process.argv.slice(2)) {
  const { error, stderr } = spawnSync(process.execPath, [command], {
    env: environment,
    encoding: 'utf8',
    timeout: 30_000,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (error !== undefined) throw new Error(`${command} does not end without a configuration`, { cause: error })
  if (/ERR_MODULE_NOT_FOUND|SyntaxError/.test(stderr)) throw new Error(`${command} does not load: ${stderr}`)
}

const compiled = readdirSync(cache, { recursive: true }).length
if (compiled < 10) throw new Error(`only ${compiled} files in ${cache}`)
console.log(`${compiled} compiled modules`)
