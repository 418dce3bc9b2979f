import { rm } from 'node:fs/promises'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { neededFiles } from './needed-files.ts'
import { uploadPath } from '../../files/files-directory.ts'

/**
 * Removes uploaded files that are not in use, such as replaced files. A maintenance job retries files that cannot be removed now.
 * Never throws.
 */
export async function removeUnneededFiles(
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
