/** Sizes the reader works within. Tests make them tiny so that every boundary is crossed. */
export interface ParquetLimits {
  /** Bytes of tuples handed on at a time; a single longer row gets a chunk of its own. */
  chunkBytes: number
  /** Chunks that may wait for the consumer before the thread pauses. */
  chunksInFlight: number
  /** Rows that are decoded and encoded at a time. */
  batchRows: number
  footerBytes: number
  /** One page, decompressed. DuckDB writes pages of up to 100 MB, everybody else of 1 MB. */
  pageBytes: number
  /** Bytes in memory at the same time: decompressed pages and dictionaries of all columns, and the nested values of one batch as JSON. */
  heldBytes: number
  /** How much more decompressed than compressed bytes there may be, and how many rows to a byte of the file. */
  ratio: number
  /** What is let through before `ratio` counts. */
  ratioFrom: { bytes: number; rows: number }
  /** Bytes of tuples that are let through before `ratio` counts for them: one value may stand in every row. */
  writtenFrom: number
  /** Milliseconds after which a silent thread is given up. */
  silence: number
}

const mega = 1024 * 1024

export const defaultLimits: ParquetLimits = {
  chunkBytes: 512 * 1024,
  chunksInFlight: 4,
  batchRows: 1024,
  footerBytes: 32 * mega,
  pageBytes: 128 * mega,
  heldBytes: 256 * mega,
  ratio: 1000,
  ratioFrom: { bytes: 64 * mega, rows: 10_000_000 },
  writtenFrom: 1024 * mega,
  silence: 120_000,
}

/** Groups inside groups; deeper ones are not read. */
export const maxDepth = 64
