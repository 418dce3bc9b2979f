import type { ChunkLimits } from '../reader-thread-protocol.ts'

/** Limits of the reader. Tests use tiny limits, so that every boundary is crossed. */
export interface DelimitedLimits extends ChunkLimits {
  /** The bytes of the file that are in memory at a time. A longer record enlarges this window. */
  readBytes: number
  /** The maximum bytes of a record, at most 16 MB. A longer record is rejected. */
  recordBytes: number
  /** The types of a file up to this size, in bytes, are inferred from all its rows before the first row is encoded. */
  wholeBytes: number
  /** The types of a larger file are inferred from this many bytes at its start and at its end, and from `slices`. */
  sampleBytes: number
  /** The number of slices between start and end, each of `sliceBytes` bytes. */
  slices: number
  sliceBytes: number
}

export const defaultDelimitedLimits: DelimitedLimits = {
  readBytes: 1024 * 1024,
  chunkBytes: 512 * 1024,
  chunksInFlight: 8,
  recordBytes: 16 * 1024 * 1024,
  wholeBytes: 8 * 1024 * 1024,
  sampleBytes: 1024 * 1024,
  slices: 64,
  sliceBytes: 64 * 1024,
}
