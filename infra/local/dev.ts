import { programSources } from '../bundle/programs.ts'
import { root, state } from '../paths.ts'
import { refuse } from '../refusal.ts'
import { runLocal } from './run-local.ts'
import { readSettings } from './settings.ts'

/**
 * `npm run dev`: what `npm start` starts, from the sources as they are; a saved change restarts the services that run it.
 * With `-- --inspect` a debugger can attach to each service.
 */

for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

try {
  const inspect = process.argv.includes('--inspect')
  await runLocal(readSettings(process.env, root, state), programSources(root), { restartOnChange: true, inspect })
} catch (error) {
  refuse(error)
}
process.exit()
