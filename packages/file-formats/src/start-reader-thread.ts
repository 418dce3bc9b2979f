import type { ResourceLimits } from 'node:worker_threads'
import {
  type ReadReporter,
  ReadingThread,
  type SpareThread,
  spareThread,
  type StoredType,
  suspendSpareThreads,
  type ThreadReader,
  type TupleChunk,
} from '@sluice/row-stream'
import type { JobKind, ReaderMessage, RowsCommand, ThreadJob } from './reader-thread-protocol.ts'
import { defaultUploadLimits } from './spool/upload-limits.ts'

const threadProgram = new URL('./reader-thread.ts', import.meta.url)

/** The heap limits of the threads. They are small, because rows, pages and chunks are in buffers outside the heap. */
const resourceLimits: Record<JobKind, ResourceLimits> = {
  // A small young generation prevents garbage from accumulating.
  csv: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 4 },
  convert: { maxOldGenerationSizeMb: defaultUploadLimits.heapMegabytes },
  parquet: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 2 },
  preview: {},
  'key-rows': {},
}

const createSpareThread = (kind: JobKind, startEarly: boolean): SpareThread =>
  spareThread({
    program: threadProgram,
    name: kind,
    workerData: { kind },
    resourceLimits: resourceLimits[kind],
    startEarly,
  })

/**
 * Threads that are reused for the next job. The thread for conversions starts only with its first job, because many
 * loads need no conversion.
 */
const spareThreads = { csv: createSpareThread('csv', true), convert: createSpareThread('convert', false) }

/**
 * Keeps a thread for the next job of its kind, until the returned object is disposed. Reuse halves the time to read a
 * file of 10 MB.
 */
export const keepReaderThread = (kind: keyof typeof spareThreads): Disposable => spareThreads[kind].keep()

/** Keeps reader threads for reuse, until the returned object is disposed. Workers call it when they start. */
export function keepReaderThreads(): Disposable {
  const threads = new DisposableStack()
  threads.use(keepReaderThread('csv'))
  threads.use(keepReaderThread('convert'))
  return threads
}

export type ReaderThread<Result, Opened = never, Widened = never> = ReadingThread<
  ReaderMessage<Result, Opened, Widened>,
  RowsCommand
>

interface ThreadOptions extends Pick<ThreadReader, 'tooDense' | 'silence'> {
  /** The file's name in messages. */
  reading: string
  /** The heap limit in megabytes. Default: `resourceLimits`. */
  heapMegabytes?: number
}

/**
 * Starts a job in the spare thread of its kind, if there is one, or in a new thread. A thread does one job at a time.
 */
export function startReaderThread<Result, Opened = never, Widened = never>(
  kind: JobKind,
  job: object,
  { heapMegabytes, ...options }: ThreadOptions,
  signal: AbortSignal,
): ReaderThread<Result, Opened, Widened> {
  const limits = resourceLimits[kind]
  const maxOldGenerationSizeMb = heapMegabytes ?? limits.maxOldGenerationSizeMb
  // A spare thread has the default heap limit, so a job with another limit needs a new thread.
  const isReusable = (kind === 'csv' || kind === 'convert') && maxOldGenerationSizeMb === limits.maxOldGenerationSizeMb
  const thread: ReaderThread<Result, Opened, Widened> = new ReadingThread(
    {
      program: threadProgram,
      name: kind,
      job: { kind, job } satisfies ThreadJob,
      resourceLimits: { ...limits, ...(maxOldGenerationSizeMb !== undefined && { maxOldGenerationSizeMb }) },
      ...options,
      ...(isReusable && { pool: spareThreads[kind] }),
    },
    signal,
  )
  // A Parquet file needs much memory, so the spare threads end until it is read.
  if (kind === 'parquet') suspendSpareThreads(thread.ended)
  return thread
}

/**
 * Requests all rows of the file that a thread has opened, and yields them in chunks. Returns the result of the job,
 * which is then finished. If the types were too narrow, returns the wider types instead; the caller may call this again
 * with them. In all other cases, ends the thread: after an error, and if the consumer stops reading.
 */
export async function* receiveRows<Result, Widened>(
  thread: ReaderThread<Result, unknown, Widened>,
  types: readonly StoredType[],
  report: ReadReporter,
): AsyncGenerator<TupleChunk, { result: Result } | { widened: Widened }, void> {
  let keepsThread = false
  try {
    thread.send({ kind: 'encode', types })
    for (;;) {
      const message = await thread.receive()
      if (message.kind === 'progress') report.progress(message.totals)
      else if (message.kind === 'chunk') {
        const { memory, length, rejected, pass } = message
        for (const row of rejected) report.reject(row)
        const release = () => thread.send({ kind: 'release', memory, pass }, [memory])
        if (length > 0) yield { bytes: new Uint8Array(memory, 0, length), release }
        else release()
      } else if (message.kind === 'done') {
        thread.release()
        return { result: message.result }
      } else if (message.kind === 'widened') {
        keepsThread = true
        return { widened: message.widened }
      }
    }
  } finally {
    if (!keepsThread) await thread[Symbol.asyncDispose]()
  }
}
