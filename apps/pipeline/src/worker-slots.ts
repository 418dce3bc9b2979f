import { totalmem } from 'node:os'

const bytesPerMegabyte = 1024 * 1024

/**
 * The megabytes of memory that an idle worker needs, and that each run adds for its thread, chunks and connections
 * (decision 0044).
 */
const [idle, run] = [160, 96]

/** The most megabytes of heap that a thread for an HTTP system is given. A page of the maximum size takes about 500. */
const maxThreadHeap = 768

/** Returns the default number of concurrent runs in one worker, from 2 to 8, depending on its memory. */
export function computeDefaultSlots(memory: number = availableMemory()): number {
  return Math.max(2, Math.min(8, Math.floor((memory / bytesPerMegabyte - idle) / run)))
}

/**
 * Returns the heap limit in megabytes of a thread that reads an HTTP system: the memory that is left if every other slot
 * has a usual run. A run that needs more then fails, instead of the kernel ending the worker with all of its runs.
 */
export function computeThreadHeap(slots: number, memory: number = availableMemory()): number {
  const free = Math.floor(memory / bytesPerMegabyte - idle - (slots - 1) * run)
  return Math.max(run, Math.min(maxThreadHeap, free))
}

/** Returns the memory limit of the container in bytes. If it has no limit, returns the memory of the machine. */
function availableMemory(): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}
