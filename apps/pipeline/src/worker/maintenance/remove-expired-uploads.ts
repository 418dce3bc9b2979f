import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { expiryHours } from '../../api/resumable-uploads/upload-records.ts'
import { removeUnneededFiles } from '../../runs/files-in-use.ts'
import type { MaintenanceJob } from './maintenance.ts'

/** Uploads per statement. */
const batch = 500

/** Removes resumable uploads that have expired, with their bytes. The files of finished ones stay while they are in use. */
export function removeExpiredUploads({
  db,
  filesDirectory,
}: {
  db: Kysely<DB>
  filesDirectory: string
}): MaintenanceJob {
  return {
    name: 'resumable uploads',
    async run(signal) {
      for (let removed = 0; ; ) {
        signal.throwIfAborted()
        const { rows } = await sql<{ uid: string }>`
          delete from resumable_uploads where uid in (
            select uid from resumable_uploads
            where touched_at < now() - make_interval(hours => ${expiryHours})
              and (leased_until is null or leased_until < now())
            order by touched_at limit ${batch} for update skip locked
          ) returning uid`.execute(db)
        await removeUnneededFiles(
          { db, directory: filesDirectory },
          rows.map(({ uid }) => uid),
        )
        removed += rows.length
        if (rows.length < batch) return removed
      }
    },
  }
}
