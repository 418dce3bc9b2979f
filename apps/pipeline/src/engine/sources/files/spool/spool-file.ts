import { closeSync, mkdirSync, openSync, readdirSync, unlinkSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { SourceProblem } from '../../source.ts'
import { diskProblem } from './disk-problem.ts'

/** Where spools are made; nothing is ever to be found there for longer than a moment. */
export const spoolDirectory = (filesDirectory: string): string => join(filesDirectory, 'spool')

/**
 * A file without a name, for its owner alone: it is unlinked as soon as it is open, so that whatever ends the process
 * also frees its room. Answers the descriptor, to be read and written at positions.
 * Throws SourceProblem DISK_FULL or SPOOL_NOT_WRITABLE.
 */
export function openSpool(directory: string): number {
  const path = join(directory, randomUUID())
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    clearLeftovers(directory)
    const descriptor = openSync(path, 'wx+', 0o600)
    try {
      remove(path)
    } catch (error) {
      closeSync(descriptor)
      throw error
    }
    return descriptor
  } catch (cause) {
    const full = diskProblem(cause)
    if (full) throw full
    const text =
      'The service cannot make files in its own folder; an operator has to mend the permissions of FILES_DIRECTORY.'
    throw new SourceProblem('SPOOL_NOT_WRITABLE', text, { cause })
  }
}

/** A name that is still there was left by a crash, or is about to be removed by whoever made it: nobody needs it. */
function clearLeftovers(directory: string): void {
  for (const name of readdirSync(directory)) remove(join(directory, name))
}

function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
