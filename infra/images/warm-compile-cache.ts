/**
 * `NODE_COMPILE_CACHE=<folder> node warm-compile-cache.ts <command.ts>...` fills the compile cache of an image with a
 * read-only root.
 *
 * It starts each command without configuration: the command loads all modules and fails, and Node writes the compiled
 * modules. For the API and the worker of the pipeline, this saves 0.3 s of processor time until the first request, and
 * 20 MB of memory when idle.
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
  if (error !== undefined) throw new Error(`${command} does not end without configuration`, { cause: error })
  if (/ERR_MODULE_NOT_FOUND|SyntaxError/.test(stderr)) throw new Error(`${command} does not load: ${stderr}`)
}

const moduleCount = readdirSync(cache, { recursive: true }).length
if (moduleCount < 10) throw new Error(`only ${moduleCount} files in ${cache}`)
console.log(`${moduleCount} compiled modules`)
