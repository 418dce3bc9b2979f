import { programSources } from '../bundle/bundled-programs.ts'
import { root, state } from '../paths.ts'
import { reportFailure } from '../user-error.ts'
import { runLocal } from './run-local.ts'
import { readSettings } from './settings.ts'

/**
 * `npm run dev`: starts the same as `npm start`, from the sources. A saved change restarts the services that use the
 * file. With `-- --inspect`, a debugger can attach to each service.
 */

for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

try {
  const inspect = process.argv.includes('--inspect')
  await runLocal(readSettings(process.env, root, state), programSources(root), { restartOnChange: true, inspect })
} catch (error) {
  reportFailure(error)
}
process.exit()
