import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import type { HealthCheck } from '@sluice/http-server/health'

/** The health check of the files directory: up while a file can be written there. */
export const filesHealthCheck = (directory: string): HealthCheck => ({
  name: 'files',
  async check() {
    const path = join(directory, `.ready-${randomUUID()}`)
    try {
      // A full disk takes an empty file.
      await writeFile(path, Buffer.alloc(4_096), { mode: 0o600 })
    } finally {
      await rm(path, { force: true })
    }
  },
})
