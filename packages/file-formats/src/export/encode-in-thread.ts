import { Worker } from 'node:worker_threads'
import {
  type EncodedFormat,
  type EncoderCommand,
  type EncoderJob,
  type EncoderMessage,
  type ExportedColumn,
  UnencodableValueError,
} from './exported-column.ts'

const encoderProgram = new URL('./encoder-thread.ts', import.meta.url)

/**
 * The bytes of CSV for one row group or record batch: enough to compress well, and few enough to be in memory several
 * times.
 */
const defaultBatchBytes = 4 * 1024 * 1024

interface EncodeOptions {
  format: EncodedFormat
  columns: readonly ExportedColumn[]
  /** The CSV from `QueryRunner.exportRows`, without the header. */
  rows: AsyncIterable<Uint8Array>
  batchBytes?: number
}

/**
 * Encodes rows as a file in a separate thread. Reads rows only as fast as the consumer takes the bytes. Throws
 * UnencodableValueError, the error that `rows` throws, or the signal's reason.
 */
export async function* encodeInThread(
  { format, columns, rows, batchBytes = defaultBatchBytes }: EncodeOptions,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted()
  const job: EncoderJob = {
    format,
    columns: columns.map(({ name, dataType, precision, scale, sourceFormat }) => ({
      name,
      dataType,
      precision,
      scale,
      sourceFormat,
    })),
    batchBytes,
  }
  const thread = new EncoderThread(job, signal)
  try {
    for await (const bytes of rows) yield* thread.exchange({ kind: 'rows', bytes })
    yield* thread.exchange({ kind: 'end' })
  } finally {
    await thread.end()
  }
}

/** A thread that encodes one file. */
class EncoderThread {
  readonly #worker: Worker
  readonly #signal: AbortSignal
  readonly #messages: EncoderMessage[] = []
  /** The error with which `exchange` fails after the messages that the thread sent before. */
  #failure: unknown
  /** Resumes a waiting `exchange`. */
  #wake: (() => void) | undefined

  constructor(job: EncoderJob, signal: AbortSignal) {
    this.#signal = signal
    this.#worker = new Worker(encoderProgram, {
      name: 'encoder',
      workerData: job,
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    })
    this.#worker.on('message', (message: EncoderMessage) => {
      this.#messages.push(message)
      this.#wake?.()
    })
    this.#worker.on('error', (error) => this.#fail(error))
    this.#worker.on('exit', () => this.#fail(new Error('The thread that encodes an export has ended.')))
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  /**
   * Sends a command to the thread, and yields the bytes that the thread sends until it has finished the command. Throws
   * UnencodableValueError, the thread's error or the signal's reason.
   */
  async *exchange(command: EncoderCommand): AsyncGenerator<Uint8Array> {
    this.#worker.postMessage(command, [])
    for (;;) {
      const message = await this.#receive()
      if (message.kind === 'bytes') yield new Uint8Array(message.memory)
      else if (message.kind === 'problem') throw new UnencodableValueError(message.message)
      else return
    }
  }

  /** Ends the thread, even if it is encoding. */
  async end(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#abort)
    await this.#worker.terminate()
  }

  /** Returns the next message of the thread. Waits for it if necessary. */
  async #receive(): Promise<EncoderMessage> {
    for (;;) {
      this.#signal.throwIfAborted()
      const message = this.#messages.shift()
      if (message) return message
      if (this.#failure !== undefined) throw this.#failure
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
  }

  readonly #abort = (): void => this.#fail(this.#signal.reason)

  #fail(error: unknown): void {
    this.#failure ??= error
    this.#wake?.()
  }
}
