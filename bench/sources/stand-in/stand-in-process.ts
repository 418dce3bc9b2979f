import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'

export interface StandInProcess extends AsyncDisposable {
  /** As a pipeline stores it, and what it keeps apart. */
  settings: Record<string, unknown>
  secrets: Record<string, string>
  /** Writes what was asked so far into a file, for `rawDownload`; answered from memory from then on. */
  keep(file: string): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startStandIn(name: string, crowd: number): Promise<StandInProcess> {
  const child = fork(new URL('serve.ts', import.meta.url), [name, String(crowd)], { execArgv: ['--no-warnings'] })
  const { settings, secrets } = await answerOf<Pick<StandInProcess, 'settings' | 'secrets'>>(child)
  return {
    settings,
    secrets,
    async keep(file) {
      child.send('keep')
      const { exchanges } = await answerOf<{ exchanges: object[] }>(child)
      await writeFile(file, JSON.stringify(exchanges))
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The stand-in ended with ${code}.`)
  })
  const [answer] = (await Promise.race([once(child, 'message'), ended])) as [T]
  ended.catch(() => {})
  return answer
}
