import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cleanEnvironment } from './clean-environment.ts'
import type { OsUser } from './os-user.ts'

/** The result of a start: a server that accepts connections, or its output before it ended. */
export type StartResult = { server: ChildProcess } | { output: string }

/**
 * Milliseconds. Recovery after a crash replays the write-ahead log before the first connection, which can take minutes.
 */
const START_TIMEOUT_MS = 300_000

/**
 * Starts a postmaster and waits until it accepts connections, which it reports in the last line of postmaster.pid. Its
 * messages are appended to the file `log`.
 */
export const startServer = async (
  programs: string,
  data: string,
  flags: string[],
  log: string,
  user?: OsUser,
): Promise<StartResult> => {
  const before = (await readFile(log).catch(() => Buffer.alloc(0))).length
  const logDescriptor = openSync(log, 'a')
  const server = spawn(join(programs, 'bin/postgres'), ['-D', data, ...flags], {
    ...(user && { uid: user.uid, gid: user.gid }),
    env: cleanEnvironment(),
    // In its own process group, Ctrl-C in the terminal does not reach it. It is stopped after everything that uses it.
    detached: true,
    stdio: ['ignore', logDescriptor, logDescriptor],
  })
  closeSync(logDescriptor)
  let failure: string | undefined
  server.once('error', (error) => (failure = error.message))
  for (const end = Date.now() + START_TIMEOUT_MS; Date.now() < end; await delay(15)) {
    const hasEnded = failure !== undefined || server.exitCode !== null || server.signalCode !== null
    if (hasEnded) return { output: `${(await readFile(log)).subarray(before).toString()}${failure ?? ''}` }
    if (await isReady(data, server.pid)) return { server }
  }
  server.kill('SIGQUIT')
  return { output: `It was not ready within ${START_TIMEOUT_MS / 1000} s; see ${log}.` }
}

const isReady = async (data: string, pid: number | undefined): Promise<boolean> => {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  return lines[0] === String(pid) && lines[7]?.trim() === 'ready'
}
