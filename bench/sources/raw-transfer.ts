import { fork } from 'node:child_process'
import { once } from 'node:events'
import { measureCommand } from '../load/loaders/measure-command.ts'
import type { Loader } from '../load/loaders/loader.ts'
import { watchMemory } from '../load/process-memory.ts'

/** The comparison for a source: a transfer of its bytes that discards them. */
export interface RawTransfer extends Loader {
  /** Returns the bytes of the last transfer. */
  bytes(): number
}

const name = 'raw download'

/** Sends the requests that the file lists, with plain fetch and this concurrency. */
export function rawDownload(file: string, concurrency: number): RawTransfer {
  let last = 0
  return {
    name,
    bytes: () => last,
    async load() {
      const child = fork(new URL('raw-download-process.ts', import.meta.url), [file, String(concurrency)], {
        execArgv: ['--no-warnings'],
      })
      const ended = once(child, 'exit')
      const message = once(child, 'message')
      const [memory, outcome] = await Promise.all([
        watchMemory(child.pid!, ended),
        Promise.race([message, ended.then(() => undefined)]),
      ])
      if (!outcome) throw new Error('The raw download failed.')
      const [{ milliseconds, bytes }] = outcome as [{ milliseconds: number; bytes: number }]
      last = bytes
      return { milliseconds, memory }
    },
  }
}

/**
 * Runs a command of the database's client, or one that reads from the disk, and discards its output of `bytes` bytes.
 */
export const rawCommand = (command: string, bytes: number, env: NodeJS.ProcessEnv = {}): RawTransfer => ({
  name,
  bytes: () => bytes,
  load: () => measureCommand(`${command} > /dev/null`, env),
})
