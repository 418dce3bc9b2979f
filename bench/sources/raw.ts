import { fork } from 'node:child_process'
import { once } from 'node:events'
import { measureCommand } from '../load/contenders/command.ts'
import type { Contender } from '../load/contenders/contender.ts'
import { watchMemory } from '../load/memory.ts'

/** What a source is held against: its bytes brought here, and nothing done with them. */
export interface Raw extends Contender {
  /** Of the last download. */
  bytes(): number
}

const name = 'raw download'

/** By plain fetch: what the file lists, so many at once. */
export function rawDownload(file: string, atOnce: number): Raw {
  let last = 0
  return {
    name,
    bytes: () => last,
    async load() {
      const child = fork(new URL('download.ts', import.meta.url), [file, String(atOnce)], {
        execArgv: ['--no-warnings'],
      })
      const ended = once(child, 'exit')
      const said = once(child, 'message')
      const [memory, outcome] = await Promise.all([
        watchMemory(child.pid!, ended),
        Promise.race([said, ended.then(() => undefined)]),
      ])
      if (!outcome) throw new Error('The raw download failed.')
      const [{ milliseconds, bytes }] = outcome as [{ milliseconds: number; bytes: number }]
      last = bytes
      return { milliseconds, memory }
    },
  }
}

/** By the database's own client or from the disk: a command whose output goes nowhere. `bytes` is what it writes. */
export const rawCommand = (command: string, bytes: number, env: NodeJS.ProcessEnv = {}): Raw => ({
  name,
  bytes: () => bytes,
  load: () => measureCommand(`${command} > /dev/null`, env),
})
