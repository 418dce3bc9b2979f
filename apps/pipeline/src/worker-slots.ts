import { totalmem } from 'node:os'

const megabyte = 1024 * 1024

/** Megabytes of a worker without a run, and of one run more: reading thread, chunks and connections (decision 0044). */
const [idle, run] = [160, 96]

/** Runs at once in one worker that says nothing else: 8, or as many as fit into its memory; 2 at least. */
export function defaultSlots(memory: number = availableMemory()): number {
  return Math.max(2, Math.min(8, Math.floor((memory / megabyte - idle) / run)))
}

/** Bytes: the limit of the container where there is one, else what the machine has. */
function availableMemory(): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}
