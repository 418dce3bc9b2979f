import { totalmem } from 'node:os'

const bytesPerMegabyte = 1024 * 1024

/**
 * The megabytes of memory that an idle worker needs, and that each run adds for its thread, chunks and connections
 * (decision 0044).
 */
const [idle, run] = [160, 96]

/** Returns the default number of concurrent runs in one worker, from 2 to 8, depending on its memory. */
export function computeDefaultSlots(memory: number = availableMemory()): number {
  return Math.max(2, Math.min(8, Math.floor((memory / bytesPerMegabyte - idle) / run)))
}

/** Returns the memory limit of the container in bytes. If it has no limit, returns the memory of the machine. */
function availableMemory(): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}
