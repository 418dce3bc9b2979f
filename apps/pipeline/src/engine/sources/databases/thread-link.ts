import { Worker } from 'node:worker_threads'
import { SourceProblem } from '../source.ts'
import type { Command, Job, Message } from './protocol.ts'

export type Answer = Exclude<Message, { kind: 'problem' }>

/** The thread that reads one database, seen from the event loop. Aborting or disposing ends it at once, its connection with it. */
export class ThreadLink implements AsyncDisposable {
  readonly #worker: Worker
  readonly #signal: AbortSignal
  readonly #messages: Message[] = []
  #failure: unknown
  #wake: (() => void) | undefined

  constructor(job: Job, signal: AbortSignal) {
    this.#signal = signal
    const { host } = job.config
    this.#worker = new Worker(new URL('./database-thread.ts', import.meta.url), {
      name: job.config.kind,
      workerData: job,
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
    this.#worker.on('message', (message: Message) => {
      this.#messages.push(message)
      this.#wake?.()
    })
    this.#worker.on('error', (cause) => this.#fail(new Error(`Reading the database at ${host} failed`, { cause })))
    this.#worker.on('messageerror', (cause) =>
      this.#fail(new Error(`Reading the database at ${host} failed`, { cause })),
    )
    this.#worker.on('exit', () => this.#fail(new Error(`The thread that reads the database at ${host} has ended`)))
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
      if (message?.kind === 'problem') throw new SourceProblem(message.code, message.message)
      if (message) return message
      if (this.#failure !== undefined) throw this.#failure
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener('abort', this.#abort)
    this.#messages.length = 0
    await this.#worker.terminate()
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
}
