import { totalmem } from 'node:os'

const bytesPerMegabyte = 1024 * 1024

/** Megabytes that an idle worker needs, and that each run adds for its thread, chunks and connections (decision 0044). */
const [idle, run] = [160, 96]

/** Returns the default number of concurrent runs in one worker: as many as fit into its memory, from 2 to 8. */
export function computeDefaultSlots(memory: number = availableMemory()): number {
  return Math.max(2, Math.min(8, Math.floor((memory / bytesPerMegabyte - idle) / run)))
}

/** Returns the memory limit of the container in bytes, or the memory of the machine if the container has no limit. */
function availableMemory(): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}
