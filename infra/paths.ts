import { resolve } from 'node:path'

/** The checkout's root folder. */
export const root = resolve(import.meta.dirname, '..')

/**
 * Everything that running Sluice here leaves behind: data, files, logs, secrets. Git-ignored, and safe to delete to begin
 * afresh. SLUICE_DIRECTORY puts it elsewhere.
 */
export const state = resolve(root, process.env['SLUICE_DIRECTORY'] || '.sluice')
