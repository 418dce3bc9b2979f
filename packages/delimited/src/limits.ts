/** Sizes the reader works within. Tests make them tiny so that every boundary is crossed. */
export interface Limits {
  /** Bytes of the file held at a time, as long as records are shorter than that. */
  readBytes: number
  /** Bytes of COPY text handed on at a time; a single longer record gets a chunk of its own. */
  chunkBytes: number
  /** Chunks that may wait for the consumer before the thread pauses. */
  chunksInFlight: number
  /** The longest record that is read; a longer one is rejected. */
  recordBytes: number
}

export const defaultLimits: Limits = {
  readBytes: 512 * 1024,
  chunkBytes: 512 * 1024,
  chunksInFlight: 4,
  recordBytes: 16 * 1024 * 1024,
}

/** PostgreSQL's own limit of columns in a table. */
export const maxColumns = 1600
