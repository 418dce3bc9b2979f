import { mostKeptRejects } from '@sluice/row-stream'

/** Limits for reading an upload. Tests use tiny limits. */
export interface UploadLimits {
  /** Maximum bytes of an upload after it is unpacked or rewritten. */
  spoolBytes: number
  /** Size in bytes of the largest workbook that a preview unpacks from an archive. */
  previewBytes: number
  /** Maximum ratio of unpacked to packed size; applies from `ratioFrom` bytes on. */
  ratio: number
  ratioFrom: number
  /**
   * Number of written bytes from which the same ratio applies to output; workbooks and JSON files can repeat values
   * without compression.
   */
  writtenFrom: number
  /** Entries of a ZIP archive, a workbook's parts included. */
  entries: number
  /** Bytes of one record: a JSON object, a row of a sheet. A longer one is rejected or refused. */
  recordBytes: number
  /** Bytes read or unpacked per step. */
  chunkBytes: number
  /** Bytes of a workbook's texts kept in memory; the rest is kept in a file. */
  textBytes: number
  /** Texts that a workbook may share among its cells. */
  texts: number
  /** Number of rejected rows that are stored; further ones are only counted. */
  keptRejects: number
  /** Megabytes of JavaScript objects that the thread may hold; its input and output buffers do not count. */
  heapMegabytes: number
}

export const defaultUploadLimits: UploadLimits = {
  spoolBytes: 64 * 1024 ** 3,
  previewBytes: 1024 ** 3,
  ratio: 200,
  ratioFrom: 100_000_000,
  writtenFrom: 1024 ** 3,
  entries: 10_000,
  recordBytes: 16 * 1024 * 1024,
  chunkBytes: 256 * 1024,
  textBytes: 24 * 1024 * 1024,
  texts: 8_000_000,
  keptRejects: mostKeptRejects,
  heapMegabytes: 96,
}
