import { join } from 'node:path'
import { bundledPrograms } from '../infra/bundle/bundled-programs.ts'
import { root, state } from '../infra/paths.ts'

/** The measured programs, bundled as for `npm start` and the images. */
export const programs = bundledPrograms(root, join(state, 'built-for-bench'))
