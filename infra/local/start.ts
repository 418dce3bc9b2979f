import { join } from 'node:path'
import { bundledPrograms } from '../bundle/bundled-programs.ts'
import { root, state } from '../paths.ts'
import { reportFailure } from '../user-error.ts'
import { runLocal } from './run-local.ts'
import { readSettings } from './settings.ts'

/** `npm start` runs PostgreSQL, both services and the worker on this machine until Ctrl-C. */

// The terminal may close before this process ends. Later output is dropped.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

try {
  await runLocal(readSettings(process.env, root, state), bundledPrograms(root, join(state, 'built')))
} catch (error) {
  reportFailure(error)
}
process.exit()
