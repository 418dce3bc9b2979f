import { Worker } from 'node:worker_threads'
import { SourceProblem } from '../../source.ts'
import type { Command, Job, Message } from './protocol.ts'

type Answer = Exclude<Message, { kind: 'problem' }>

/** What one thread may have for objects; pages and chunks are outside of it and bounded by `limits`. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 4 }

/** The thread that reads one file, seen from the event loop. Aborting or disposing ends it at once, wherever it is. */
export class ThreadLink implements AsyncDisposable {
  readonly #worker: Worker
  readonly #job: Job
  readonly #signal: AbortSignal
  readonly #messages: Message[] = []
  #failure: unknown
  #wake: (() => void) | undefined

  constructor(job: Job, signal: AbortSignal) {
    this.#job = job
    this.#signal = signal
    this.#worker = new Worker(new URL('./parquet-thread.ts', import.meta.url), {
      name: 'parquet',
      workerData: job,
      resourceLimits,
    })
    this.#worker.on('message', (message: Message) => {
      this.#messages.push(message)
      this.#wake?.()
    })
    this.#worker.on('error', (cause) => this.#fail(this.#explain(cause)))
    this.#worker.on('messageerror', (cause) => this.#fail(this.#explain(cause)))
    this.#worker.on('exit', () => this.#fail(new Error(`The thread that reads ${job.fileName} has ended`)))
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  send(command: Command, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(command, transfer)
  }

  /** The next message in order. Throws the abort's reason, what went wrong in the thread, or the problem it reports. */
  async receive(): Promise<Answer> {
    for (;;) {
      this.#signal.throwIfAborted()
      const message = this.#messages.shift()
      if (message?.kind === 'problem') throw new SourceProblem(message.code, message.message, { cause: message.cause })
      if (message) return message
      if (this.#failure !== undefined) throw this.#failure
      await this.#silence()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener('abort', this.#abort)
    this.#messages.length = 0
    await this.#worker.terminate()
  }

  /** Waits for anything to happen. Bytes that were made to keep a decoder busy for years are given up after a while. */
  async #silence(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { fileName, limits } = this.#job
    this.#wake = resolve
    const timer = setTimeout(() => {
      this.#fail(
        new SourceProblem(
          'FILE_DAMAGED',
          `${fileName} could not be read any further: nothing came of it for ${limits.silence / 1000} seconds. Have it written anew.`,
        ),
      )
      void this.#worker.terminate()
    }, limits.silence)
    await promise
    clearTimeout(timer)
  }

  readonly #abort = () => {
    void this.#worker.terminate()
    this.#wake?.()
  }

  /** The first failure is the cause; that the thread then ends is not. */
  #fail(failure: Error): void {
    this.#failure ??= failure
    this.#wake?.()
  }

  #explain(cause: Error): Error {
    const { fileName } = this.#job
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') {
      return new Error(`Reading ${fileName} failed`, { cause })
    }
    const message = `${fileName} needs more memory than a file may take. Write it with smaller row groups or fewer columns.`
    return new SourceProblem('FILE_TOO_DENSE', message, { cause })
  }
}
