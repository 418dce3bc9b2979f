import { totalmem } from 'node:os'

const megabyte = 1024 * 1024

/** Megabytes of an idle worker, and of each run: reading thread, chunks and connections (decision 0044). */
const [idle, run] = [160, 96]

/** The default number of concurrent runs in one worker: as many as fit into its memory, at least 2 and at most 8. */
export function computeDefaultSlots(memory: number = availableMemory()): number {
  return Math.max(2, Math.min(8, Math.floor((memory / megabyte - idle) / run)))
}

/** Bytes: the memory limit of the container, or else the memory of the machine. */
function availableMemory(): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}
