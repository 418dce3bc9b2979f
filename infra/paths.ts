import { resolve } from 'node:path'

/** The checkout's root folder. */
export const root = resolve(import.meta.dirname, '..')

/**
 * The folder of all data that a local installation creates: databases, files, logs, secrets. Git ignores it, and
 * deleting it starts over. SLUICE_DIRECTORY sets another folder.
 */
export const state = resolve(root, process.env['SLUICE_DIRECTORY'] || '.sluice')
