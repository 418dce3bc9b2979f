import { rm } from 'node:fs/promises'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { neededFiles } from './needed-files.ts'
import { uploadPath } from './upload-path.ts'

/**
 * Removes files that others have replaced, once their rows are gone: not those that a run under way reads, or that a client keeps. What
 * cannot be removed now is removed by the maintenance job of workers. Never throws.
 */
export async function removeReplaced(
  { db, directory }: { db: Kysely<DB>; directory: string },
  uids: readonly string[],
): Promise<void> {
  if (uids.length === 0) return
  try {
    const kept = await neededFiles(db, uids)
    for (const uid of uids) if (!kept.has(uid)) await rm(uploadPath(directory, uid), { force: true })
  } catch {
    // Maintenance removes it later.
  }
}
