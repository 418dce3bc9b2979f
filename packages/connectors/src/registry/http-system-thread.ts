import { parentPort, workerData } from 'node:worker_threads'
import { outgoingAllowed } from '@sluice/http-client'
import { createProblemMessage, type ReadReporter, SourceProblem } from '@sluice/row-stream'
import { createTablesReporter } from '../http-connector/tables-reporter.ts'
import type { SpooledSystem } from '../http-connector/spool-http-system.ts'
import { spoolRecords } from '../http-connector/http-system-session.ts'
import { findSystem } from './connector-modules.ts'
import type { SystemCommand, SystemJob, SystemMessage, SystemThreadJob } from './http-system-thread-protocol.ts'

// This worker thread reads systems with an HTTP API to disk, one job at a time.

if (!parentPort) throw new Error('http-system-thread.ts is a worker thread, not a program')
const parent = parentPort
const controller = new AbortController()
let onStartedOver: (() => void) | undefined

const sendMessage = (message: SystemMessage): void => parent.postMessage(message, [])

/** Sends all reports to the main thread. */
const reporter: ReadReporter = {
  progress: ({ bytesRead }) => sendMessage({ kind: 'progress', bytesRead }),
  reject: (row) => sendMessage({ kind: 'rejected', row }),
  // Only the rows of files are counted without being reported.
  rejectMore: () => {},
  log: (...line) => sendMessage({ kind: 'log', line }),
  readsEverything: (reason) => sendMessage({ kind: 'fullRead', reason }),
  async startOver() {
    const { promise, resolve } = Promise.withResolvers<void>()
    onStartedOver = resolve
    // After a cancellation, the main thread does not answer. The read then continues to its next request, which fails,
    // and signs out.
    controller.signal.addEventListener('abort', () => resolve(), { once: true })
    sendMessage({ kind: 'startOver' })
    await promise
  },
}

async function spool({ system, request, filesDirectory, allowed, retryPolicy }: SystemJob): Promise<SpooledSystem> {
  const httpSystem = await findSystem(system)!(request.settings)
  return await spoolRecords(httpSystem, request, {
    filesDirectory,
    allowed: outgoingAllowed().parse(allowed.join()),
    retryPolicy,
    reporter: createTablesReporter(reporter),
    signal: controller.signal,
  })
}

/** Runs a job and sends its result. After an error, the thread ends. */
async function runJob(job: SystemJob): Promise<void> {
  try {
    const spooled = await spool(job)
    const files = spooled.streams.flatMap(({ tables }) => tables.flatMap(({ file }) => file ?? []))
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    parent.postMessage({ kind: 'done', spooled, heldBytes: heapUsed + arrayBuffers } satisfies SystemMessage, files)
  } catch (error) {
    // The session has signed out. The main thread waits for the end of this thread.
    if (controller.signal.aborted) process.exit()
    // Any other error is a bug. It ends the thread, and the main thread reports it.
    if (!(error instanceof SourceProblem)) throw error
    sendMessage(createProblemMessage(error))
    parent.close()
  }
}

parent.on('message', (message: SystemCommand | SystemThreadJob) => {
  if (!('kind' in message)) return void runJob(message.job!)
  if (message.kind === 'cancel') controller.abort(new Error('The read was cancelled'))
  else onStartedOver?.()
})
const { job: firstJob } = workerData as SystemThreadJob
if (firstJob) void runJob(firstJob)
