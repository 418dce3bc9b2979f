import type { Worker } from 'node:worker_threads'

/** Records the threads named `name` that this process creates, until it is disposed of. */
export function recordThreads(name: string) {
  const threads: Worker[] = []
  const record = (thread: Worker) => {
    if (thread.threadName === name) threads.push(thread)
  }
  process.on('worker', record)
  return {
    /** Returns how many threads were created. */
    countCreated: () => threads.length,
    /** Returns how many of them have not exited. */
    countRunning: () => threads.filter(({ threadId }) => threadId !== -1).length,
    [Symbol.dispose]: () => void process.off('worker', record),
  }
}
