import { Readable } from 'node:stream'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { filesHealthCheck } from './files-health-check.ts'
import { receiveFile } from './receive-file.ts'

/** A folder in which not even root can create files. */
const unwritable = '/sys/kernel'

describe('FILES_DIRECTORY that is not writable', () => {
  it('makes an upload fail with 503 and a message that names FILES_DIRECTORY', async () => {
    const received = receiveFile(Readable.from(['a']), { directory: unwritable, uploadLimit: 10 }, randomUUID())
    await expect(received).rejects.toMatchObject({
      status: 503,
      code: 'upload-disk-not-writable',
      message: expect.stringContaining('FILES_DIRECTORY'),
    })
  })

  it('fails the readiness check, as does a missing directory', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-files-'))
    await filesHealthCheck(folder).check()
    await expect(filesHealthCheck(unwritable).check()).rejects.toThrow()
    await rm(folder, { recursive: true })
    await expect(filesHealthCheck(folder).check()).rejects.toThrow()
  })
})
