import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import type { Part } from '@sluice/http/health'

/** Where uploaded files are, by their uid: shared by the API, which writes them, and the workers, which read them. */
export const uploadsDirectory = (filesDirectory: string): string => join(filesDirectory, 'uploads')

export const uploadPath = (filesDirectory: string, uid: string): string => join(uploadsDirectory(filesDirectory), uid)

/** The folder of files as a part of the service: up while a file can be written there. */
export const filesHealthCheck = (directory: string): Part => ({
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
