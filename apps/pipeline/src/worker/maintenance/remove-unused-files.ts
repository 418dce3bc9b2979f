import { opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { findFilesInUse, removeUnusedFiles, uploadExpiryHours } from '../../runs/files-in-use.ts'
import type { MaintenanceJob } from './maintenance.ts'
import { getUploadsDirectory } from '@sluice/connectors/uploaded-file/upload-path'

/** The minimum age in milliseconds. An upload of this age either has a row in the database or has failed. */
const minAge = 3_600_000
const uidPrefixPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

/**
 * Removes uploaded files that were replaced or that belong to a failed upload, unless a queued or running run reads
 * them. For organisations with the setting RETAIN_TEMP_FILES, the files of the last seven days' runs stay.
 */
export function removeFiles({ db, filesDirectory }: { db: Kysely<DB>; filesDirectory: string }): MaintenanceJob {
  const folder = getUploadsDirectory(filesDirectory)
  return {
    name: 'files',
    async run(signal) {
      let removedCount = 0
      for await (const names of listOldFiles(folder)) {
        signal.throwIfAborted()
        const usedFiles = await findFilesInUse(db, [...new Set(names.map(uidOf))])
        for (const name of names) {
          if (usedFiles.has(uidOf(name))) continue
          await rm(join(folder, name), { force: true })
          removedCount += 1
        }
      }
      return removedCount
    },
  }
}

const uidOf = (name: string) => name.slice(0, 36)

/**
 * Yields the names of old files of this service, a few hundred at a time. Yields nothing if the directory does not
 * exist.
 */
async function* listOldFiles(folder: string): AsyncGenerator<string[]> {
  const entries = await opendir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  let names: string[] = []
  for await (const entry of entries) {
    if (!entry.isFile() || !uidPrefixPattern.test(entry.name)) continue
    const stats = await stat(join(folder, entry.name)).catch(() => undefined)
    if (!stats || Date.now() - stats.mtimeMs < minAge) continue
    names.push(entry.name)
    if (names.length < 500) continue
    yield names
    names = []
  }
  if (names.length > 0) yield names
}

/** Uploads per statement. */
const batch = 500

/** Deletes expired resumable uploads and their bytes. The file of a finished upload stays while it is in use. */
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
      for (let removedCount = 0; ; ) {
        signal.throwIfAborted()
        const { rows } = await sql<{ uid: string }>`
          delete from resumable_uploads where uid in (
            select uid from resumable_uploads
            where touched_at < now() - make_interval(hours => ${uploadExpiryHours})
              and (leased_until is null or leased_until < now())
            order by touched_at limit ${batch} for update skip locked
          ) returning uid`.execute(db)
        await removeUnusedFiles(
          { db, directory: filesDirectory },
          rows.map(({ uid }) => uid),
        )
        removedCount += rows.length
        if (rows.length < batch) return removedCount
      }
    },
  }
}
