import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import type { HealthCheck } from '@sluice/http-server/check-readiness'

/** Returns the health check of the upload directory. It writes a file there. */
export const filesHealthCheck = (directory: string): HealthCheck => ({
  name: 'files',
  async check() {
    const path = join(directory, `.ready-${randomUUID()}`)
    try {
      // Write some bytes, because an empty file can be created even on a full disk.
      await writeFile(path, Buffer.alloc(4_096), { mode: 0o600 })
    } finally {
      await rm(path, { force: true })
    }
  },
})
