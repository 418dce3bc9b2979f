import { join } from 'node:path'
import { bundledPrograms } from '../infra/bundle/programs.ts'
import { root, state } from '../infra/paths.ts'

/** What is measured: the programs as `npm start` and the images run them. */
export const programs = bundledPrograms(root, join(state, 'built-for-bench'))
