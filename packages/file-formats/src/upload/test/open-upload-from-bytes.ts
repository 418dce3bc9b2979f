import { mkdtempSync, readdirSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RejectedRow } from '@sluice/row-stream'
import { type OpenedUpload, openUpload, type UploadToOpen } from '../open-upload.ts'
import { defaultUploadLimits, type UploadLimits } from '../../spool/upload-limits.ts'

/** What an upload became, read to its end. */
export interface Opened {
  text: string
  bytes: Buffer
  rejected: RejectedRow[]
  how: string
  format: OpenedUpload['format']
  inPlace: boolean
  dialect: OpenedUpload['dialect']
  sheets: OpenedUpload['sheets']
  unread: OpenedUpload['unread']
}

export interface UploadFolder extends Disposable {
  path: string
  /** Opens these bytes as an upload of that name, within limits that differ from the usual ones as given. */
  open(
    name: string,
    bytes: Uint8Array | string,
    more?: Partial<Omit<UploadToOpen, 'limits'>> & { limits?: Partial<UploadLimits> },
    signal?: AbortSignal,
  ): Promise<Opened>
  /** What is left in the folder of spools. */
  leftovers(): string[]
}

export function uploadFolder(): UploadFolder {
  const path = mkdtempSync(join(tmpdir(), 'sluice-upload-'))
  return {
    path,
    async open(name, bytes, { limits, ...more } = {}, signal = new AbortController().signal) {
      const file = join(path, 'upload')
      writeFileSync(file, bytes)
      const upload = { path: file, name, filesDirectory: path, limits: { ...defaultUploadLimits, ...limits }, ...more }
      using opened = await openUpload(upload, signal)
      const { formatSentence: how, format, inPlace, dialect, sheets, unread } = opened
      const content = contentOf(opened)
      return {
        text: content.toString(),
        bytes: content,
        rejected: (await Array.fromAsync(opened.rejects())).flat(),
        how,
        format,
        inPlace,
        dialect,
        sheets,
        unread,
      }
    },
    leftovers: () => readdirSync(join(path, 'spool')),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}

export function contentOf({ file }: OpenedUpload): Buffer {
  const bytes = Buffer.alloc(file.size)
  for (let at = 0; at < bytes.length; ) at += readSync(file.fd, bytes, at, bytes.length - at, at)
  return bytes
}
