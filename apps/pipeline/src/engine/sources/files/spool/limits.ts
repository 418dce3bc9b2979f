import { mostKeptRejects } from '../../../tolerated-rejects.ts'

/** Sizes that reading an upload stays within, whatever it holds. Tests make them tiny. */
export interface UploadLimits {
  /** Bytes that an upload may come to once it is unpacked or rewritten. */
  spoolBytes: number
  /** Size in bytes of the largest workbook that a preview unpacks from an archive. */
  previewBytes: number
  /** How many times its packed size something may come to, asked from `ratioFrom` bytes on. */
  ratio: number
  ratioFrom: number
  /** The same for what is written, which a workbook or a JSON file may repeat without being packed: asked from here on. */
  writtenFrom: number
  /** Entries of a ZIP archive, a workbook's parts included. */
  entries: number
  /** Bytes of one record: a JSON object, a row of a sheet. A longer one is rejected or refused. */
  recordBytes: number
  /** Bytes read or unpacked at a time. */
  chunkBytes: number
  /** Bytes of a workbook's texts that are held in memory; the rest waits in a file. */
  textBytes: number
  /** Texts that a workbook may share among its cells. */
  texts: number
  /** Rejected rows that are written down; further ones are counted. */
  keptRejects: number
  /** Megabytes of objects that the thread may hold; what it reads and writes is buffers beside them. */
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
