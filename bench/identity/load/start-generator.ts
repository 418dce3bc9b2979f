import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Job, Result } from './load-job.ts'

export interface Generator extends AsyncDisposable {
  run(job: Job): Promise<Result>
}

/** Starts the load generator process, which runs one job at a time. */
export function startGenerator(): Generator {
  const child = fork(join(import.meta.dirname, 'generator-process.ts'))
  return {
    async run(job) {
      child.send(job)
      const [answer] = (await once(child, 'message')) as [{ result: Result } | { error: string }]
      if ('error' in answer) throw new Error(answer.error)
      return answer.result
    },
    async [Symbol.asyncDispose]() {
      child.kill()
    },
  }
}
