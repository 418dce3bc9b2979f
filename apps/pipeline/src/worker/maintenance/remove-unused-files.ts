import { opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { neededFiles } from '../../runs/files-in-use.ts'
import type { MaintenanceJob } from './maintenance.ts'
import { getUploadsDirectory } from '@sluice/connectors/uploaded-file/upload-path'

/** Minimum age in milliseconds. An upload of this age has its row, or has failed. */
const minAge = 3_600_000
const uidPrefixPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

/**
 * Removes uploaded files that were replaced, or whose upload failed, unless a queued or running run reads them. The files of the
 * last days' runs stay for clients with RETAIN_TEMP_FILES.
 */
export function removeFiles({ db, filesDirectory }: { db: Kysely<DB>; filesDirectory: string }): MaintenanceJob {
  const folder = getUploadsDirectory(filesDirectory)
  return {
    name: 'files',
    async run(signal) {
      let removed = 0
      for await (const names of listOldFiles(folder)) {
        signal.throwIfAborted()
        const usedFiles = await neededFiles(db, [...new Set(names.map(uidOf))])
        for (const name of names) {
          if (usedFiles.has(uidOf(name))) continue
          await rm(join(folder, name), { force: true })
          removed += 1
        }
      }
      return removed
    },
  }
}

const uidOf = (name: string) => name.slice(0, 36)

/** Yields the names of old files of the service, a few hundred at a time; nothing if the folder does not exist. */
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
