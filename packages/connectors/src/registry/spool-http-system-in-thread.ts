import { connectorNames } from '@sluice/contracts/connector-types'
import { ReadingThread, SourceProblem, type SpareThread, spareThread } from '@sluice/row-stream'
import type { ConnectorContext } from '../connector.ts'
import type { SpoolRecords } from '../http-connector/http-connector.ts'
import type { TablesReporter } from '../http-connector/tables-reporter.ts'
import type { SpooledSystem } from '../http-connector/spool-http-system.ts'
import { closeTable } from '../http-connector/records/table-spool.ts'
import type { SystemReference } from './connector-modules.ts'
import type { SystemCommand, SystemMessage, SystemThreadJob } from './http-system-thread-protocol.ts'

const program = new URL('./http-system-thread.ts', import.meta.url)

/** A page of the maximum size, with its records before and after conversion, takes about 500 MB. */
const defaultHeapMegabytes = 768

/**
 * Maximum bytes that a reused thread holds, unused objects included. A reused thread has compiled its code, which takes
 * 0.4 s of processor time. Above the limit the thread ends, because that frees its memory.
 */
const maxHeldBytes = 64 * 1024 * 1024

/** A cancelled run must end within five seconds. The thread signs out of the system in this time. */
const cancellation = {
  command: { kind: 'cancel' } satisfies SystemCommand,
  milliseconds: 2_500,
  lastMessage: 'done',
}

/** The pool of threads with each heap limit. A process usually has one. */
const pools = new Map<number, SpareThread>()

/** Returns the pool of threads with this heap limit. Creates it at the first use. */
function getPool(heapMegabytes: number): SpareThread {
  let pool = pools.get(heapMegabytes)
  if (!pool) {
    pool = spareThread({ ...createThreadOptions(heapMegabytes), workerData: {}, startEarly: false })
    pools.set(heapMegabytes, pool)
  }
  return pool
}

const createThreadOptions = (maxOldGenerationSizeMb: number) => ({
  program,
  name: 'system',
  resourceLimits: { maxOldGenerationSizeMb },
})

/**
 * Keeps a thread for the next job, until the returned object is disposed of. Workers call this at their start, with the
 * heap limit of their connectors.
 */
export const keepSystemThread = (heapMegabytes = defaultHeapMegabytes): Disposable => getPool(heapMegabytes).keep()

/** Returns a function that reads a system in a thread, so that parsing pages does not block the event loop. */
export function spoolInThread(
  system: SystemReference,
  { filesDirectory, allowed, retryPolicy, threadHeapMegabytes = defaultHeapMegabytes }: ConnectorContext,
): SpoolRecords {
  return async (request, reporter, signal) => {
    const job = { system, request, filesDirectory, allowed: allowed.entries, retryPolicy }
    await using thread = startThread(system, { job }, threadHeapMegabytes, signal)
    let previousBytesRead = 0
    for (;;) {
      const message = await thread.receive()
      if (message.kind === 'done') {
        if (message.heldBytes <= maxHeldBytes) thread.release()
        return message.spooled
      }
      if (message.kind === 'startOver') {
        await reporter.startOver()
        thread.send({ kind: 'startedOver' })
      } else if (message.kind === 'progress' && message.bytesRead !== undefined) {
        reporter.addBytes(message.bytesRead - previousBytesRead)
        previousBytesRead = message.bytesRead
      } else forwardReport(message, reporter)
    }
  }
}

/** Starts a thread that reads a system, or gives the job to a thread of the pool. */
function startThread(
  { type }: SystemReference,
  job: SystemThreadJob,
  heapMegabytes: number,
  signal: AbortSignal,
): ReadingThread<SystemMessage, SystemCommand> {
  signal.throwIfAborted()
  const systemName = (connectorNames as Partial<Record<string, string>>)[type] ?? type
  const tooDenseProblem = new SourceProblem(
    'ANSWER_TOO_LARGE',
    `Reading ${systemName} needs more than the ${heapMegabytes} MB of memory that a run may take in this worker. Request fewer records at a time, select fewer of their fields, or ask the operator for a worker with more memory.`,
  )
  return new ReadingThread<SystemMessage, SystemCommand>(
    {
      ...createThreadOptions(heapMegabytes),
      job,
      reading: systemName,
      cancellation,
      tooDense: tooDenseProblem,
      discard: (message) => void closeFiles(message as SystemMessage),
      pool: getPool(heapMegabytes),
    },
    signal,
  )
}

/** Passes a message about progress, logs or rejected rows on to the reporter. */
function forwardReport(message: SystemMessage, reporter: TablesReporter): void {
  if (message.kind === 'progress') reporter.reportActivity()
  else if (message.kind === 'log') reporter.log(...message.line)
  else if (message.kind === 'rejected') reporter.reject(message.row)
  else if (message.kind === 'fullRead') reporter.reportFullRead(message.reason)
}

const listTables = ({ streams }: SpooledSystem) => streams.flatMap(({ tables }) => tables)

/** Closes the files of the tables in a message that arrives after a cancellation. */
async function closeFiles(message: SystemMessage): Promise<void> {
  if (message.kind !== 'done') return
  for (const table of listTables(message.spooled)) await closeTable(table)
}
