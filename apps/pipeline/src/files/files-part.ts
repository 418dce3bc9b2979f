import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Part } from '@sluice/http/health'

/** The folder of files as a part of the service: up while a file can be written there. */
export const filesPart = (directory: string): Part => ({
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
