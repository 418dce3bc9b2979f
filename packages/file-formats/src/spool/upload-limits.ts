import { maxKeptRejects } from '@sluice/row-stream'

/** Limits for reading an upload. Tests use tiny limits. */
export interface UploadLimits {
  /** The maximum bytes of an upload after it is unpacked or converted. */
  spoolBytes: number
  /** The maximum bytes of a workbook that a preview unpacks from an archive. */
  previewBytes: number
  /** The maximum ratio of unpacked to packed size. It applies to uploads that unpack to more than `ratioFrom` bytes. */
  ratio: number
  ratioFrom: number
  /**
   * `ratio` applies also to converted rows of more than `writtenFrom` bytes. Converting can enlarge workbooks and JSON
   * files even without compression, for example because cells refer to shared texts.
   */
  writtenFrom: number
  /** The maximum entries of a ZIP archive, or parts of a workbook. */
  entries: number
  /**
   * The maximum bytes of one record: a JSON object or a row of a sheet. A longer record is rejected, or the upload is.
   */
  recordBytes: number
  /** The bytes that are read or unpacked per step. */
  chunkBytes: number
  /** The bytes of a workbook's shared texts that are kept in memory. Further texts are kept in a file. */
  textBytes: number
  /** The maximum number of texts that a workbook's cells share. */
  texts: number
  /** The maximum number of rejected rows that are stored. Further ones are only counted. */
  keptRejects: number
  /** The thread's heap limit in megabytes. Its input and output buffers are outside the heap. */
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
  keptRejects: maxKeptRejects,
  heapMegabytes: 96,
}
