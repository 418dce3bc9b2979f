import { join, resolve } from 'node:path'

/** The checkout's root folder. */
export const root = resolve(import.meta.dirname, '..')

/** Everything that running Sluice here leaves behind; git-ignored, and safe to delete to begin afresh. */
export const state = join(root, '.sluice')
