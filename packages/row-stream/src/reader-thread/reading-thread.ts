import { setTimeout as sleep } from 'node:timers/promises'
import { type ResourceLimits, Worker } from 'node:worker_threads'
import { type ReaderAdvice, SourceProblem } from '../source-problem.ts'
import type { SpareThread } from './idle-thread-pool.ts'

/** A thread's message that reports a problem which a user can fix. */
export interface ProblemMessage {
  kind: 'problem'
  code: string
  /** The message without the advice. */
  message: string
  advice?: ReaderAdvice
  cause?: unknown
}

export interface ThreadReader {
  /** The thread's program file. It receives `job` as its `workerData`. */
  program: URL
  /** The thread's name in debuggers and process lists. */
  name: string
  job: object
  /** The name of the file or source that the thread reads, for error messages. */
  reading: string
  /** Memory limits for JavaScript objects. Buffers are outside these limits. */
  resourceLimits?: ResourceLimits
  /** Provides an idle thread of the program for the job, and receives the thread after the job. */
  pool?: SpareThread | undefined
  env?: Record<string, string>
  /**
   * The command that makes the thread cancel its query before it is ended early, and the milliseconds allowed for that.
   * After a message of the kind `lastMessage`, nothing remains to cancel.
   */
  cancellation?: { command: unknown; milliseconds: number; lastMessage: string }
  /** Called with each message that arrives after an early end. Messages can own resources, such as files. */
  discard?: (message: unknown) => void
  /** The problem to report if the reader exceeds its memory limit. */
  tooDense?: SourceProblem
  /** The problem to report if the thread sends no message for `milliseconds`. */
  silence?: { milliseconds: number; problem: SourceProblem }
}

/** A thread ended without an error, for example because something killed it. Reading again can succeed. */
export class ReaderEnded extends Error {
  override readonly name = 'ReaderEnded'

  constructor(reading: string) {
    super(`The thread that reads ${reading} ended unexpectedly.`)
  }
}

/**
 * The main thread's handle of a thread that reads one source. Aborting or disposing ends the thread at once, unless it
 * was released.
 */
export class ReadingThread<Message extends { kind: string }, Command = never> implements AsyncDisposable {
  /** Resolves when the thread has exited. Never resolves if the thread was released for reuse. */
  readonly ended: Promise<void>
  readonly #worker: Worker
  readonly #reader: ThreadReader
  readonly #pool: SpareThread | undefined
  readonly #signal: AbortSignal
  readonly #messages: (Message | ProblemMessage)[] = []
  readonly #exited = Promise.withResolvers<void>()
  #isReleased = false
  #isDisposed = false
  #ending: Promise<void> | undefined
  #isDone = false
  #failure: unknown
  #wake: (() => void) | undefined

  constructor(reader: ThreadReader, signal: AbortSignal) {
    const { program, name, job, reading, resourceLimits, pool, env } = reader
    this.#reader = reader
    this.#pool = pool?.isKept ? pool : undefined
    this.#signal = signal
    const options = { ...(resourceLimits && { resourceLimits }), ...(env && { env }) }
    const idleThread = this.#pool?.take()
    this.#worker = idleThread ?? new Worker(program, { name, workerData: job, ...options })
    if (idleThread) idleThread.postMessage(job, [])
    this.ended = this.#exited.promise
    this.#pool?.trackThreadInUse(this.ended)
    this.#worker.on('message', (message: Message | ProblemMessage) => {
      if (message.kind === reader.cancellation?.lastMessage || message.kind === 'problem') this.#isDone = true
      if (this.#isDisposed) return reader.discard?.(message)
      this.#messages.push(message)
      this.#wake?.()
    })
    this.#worker.on('error', (cause) => this.#fail(this.#explain(cause)))
    this.#worker.on('messageerror', (cause) => this.#fail(this.#explain(cause)))
    this.#worker.on('exit', () => {
      this.#isDone = true
      this.#exited.resolve()
      this.#fail(new ReaderEnded(reading))
    })
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  send(command: Command, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(command, transfer)
  }

  /**
   * Returns the next message in order. Throws the signal's reason, the thread's error, or the problem that the thread
   * reports.
   */
  async receive(): Promise<Exclude<Message, ProblemMessage>> {
    for (;;) {
      this.#signal.throwIfAborted()
      const message = this.#messages.shift()
      if (message && isProblem(message)) throw rebuildProblem(message)
      if (message) return message as Exclude<Message, ProblemMessage>
      if (this.#failure !== undefined) throw this.#failure
      await this.#nextEvent()
    }
  }

  /**
   * Returns the thread to its pool for another job. Call it when the job is done and all its messages have been
   * received.
   */
  release(): void {
    if (!this.#pool || this.#isReleased || this.#signal.aborted || this.#failure !== undefined) return
    this.#isReleased = true
    this.#signal.removeEventListener('abort', this.#abort)
    for (const event of ['message', 'error', 'messageerror', 'exit']) this.#worker.removeAllListeners(event)
    this.#pool.returnThread(this.#worker)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isReleased) return
    this.#signal.removeEventListener('abort', this.#abort)
    this.#isDisposed = true
    for (const message of this.#messages.splice(0)) this.#reader.discard?.(message)
    await this.#end()
  }

  /** Waits for a message, a failure or the abort. Fails if the thread sends nothing for too long. */
  async #nextEvent(): Promise<void> {
    const { silence } = this.#reader
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const timeout =
      silence &&
      setTimeout(() => {
        this.#fail(silence.problem)
        void this.#worker.terminate()
      }, silence.milliseconds)
    await promise
    clearTimeout(timeout)
  }

  readonly #abort = () => {
    void this.#end()
    this.#wake?.()
  }

  /** Ends the thread, after time to cancel its query. Further calls return the same promise. */
  #end(): Promise<void> {
    const { cancellation } = this.#reader
    return (this.#ending ??= (async () => {
      if (cancellation && !this.#isDone) {
        this.#worker.postMessage(cancellation.command, [])
        const timer = new AbortController()
        await Promise.race([
          this.#exited.promise,
          sleep(cancellation.milliseconds, undefined, { signal: timer.signal, ref: false }).catch(() => {}),
        ])
        timer.abort()
      }
      await this.#worker.terminate()
    })())
  }

  /** Stores the first failure, which is the cause. Later ones, such as the thread's exit, are its consequences. */
  #fail(failure: Error): void {
    this.#failure ??= failure
    this.#wake?.()
  }

  /** Returns the error to throw for an error of the thread. */
  #explain(cause: Error): Error {
    const { reading, tooDense } = this.#reader
    const isOutOfMemory = (cause as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
    return (isOutOfMemory && tooDense) || new Error(`Reading ${reading} failed`, { cause })
  }
}

function isProblem(message: { kind: string }): message is ProblemMessage {
  return message.kind === 'problem'
}

/** Returns the message with which a thread reports a problem. */
export function createProblemMessage({ code, sentence: message, advice, cause }: SourceProblem): ProblemMessage {
  return { kind: 'problem', code, message, ...(advice && { advice }), cause }
}

const rebuildProblem = ({ code, message, advice, cause }: ProblemMessage): SourceProblem =>
  new SourceProblem(code, message, {
    ...(cause !== undefined && { cause }),
    ...(advice && { advice }),
  })
