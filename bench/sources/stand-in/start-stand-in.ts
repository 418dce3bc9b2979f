import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'

export interface StandInProcess extends AsyncDisposable {
  /** As a pipeline stores them: the settings, and the sealed secrets. */
  settings: Record<string, unknown>
  secrets: Record<string, string>
  /** Writes the requests so far to a file for `rawDownload`. From then on the stand-in repeats recorded responses. */
  keep(file: string): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startStandIn(name: string, rowCount: number): Promise<StandInProcess> {
  const child = fork(new URL('serve.ts', import.meta.url), [name, String(rowCount)], { execArgv: ['--no-warnings'] })
  const { settings, secrets } = await nextMessage<Pick<StandInProcess, 'settings' | 'secrets'>>(child)
  return {
    settings,
    secrets,
    async keep(file) {
      child.send('keep')
      const { exchanges } = await nextMessage<{ exchanges: object[] }>(child)
      await writeFile(file, JSON.stringify(exchanges))
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The stand-in ended with ${code}.`)
  })
  const [answer] = (await Promise.race([once(child, 'message'), ended])) as [T]
  ended.catch(() => {})
  return answer
}
