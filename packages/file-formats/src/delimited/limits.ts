import type { ChunkLimits } from '../reader-thread-protocol.ts'

/** Limits of the reader. Tests use tiny limits, so that every boundary is crossed. */
export interface DelimitedLimits extends ChunkLimits {
  /** Bytes of the file that are held in memory. A longer record enlarges them. */
  readBytes: number
  /** The longest record that is read; a longer one is rejected. At most 16 MB. */
  recordBytes: number
  /** Types of a file up to this size are inferred from all of its rows before the first row is encoded. */
  wholeBytes: number
  /** Types of a larger file are inferred from this many bytes at its start and at its end, and from `slices`. */
  sampleBytes: number
  /** Number of slices between start and end, each of `sliceBytes`. */
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
