import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, readlink, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Removes what an earlier run left in a data folder. Shuts down a postmaster whose parent was killed, and deletes a
 * postmaster.pid whose process is gone or is another program. PostgreSQL would not start otherwise.
 */
export const stopStaleServer = async (data: string): Promise<void> => {
  const file = join(data, 'postmaster.pid')
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10)
  if (pid > 1 && (await isPostmasterOf(pid, data))) await shutDown(pid)
  await rm(file, { force: true })
}

/** Process ids are reused after a restart of the machine, so only a process in this data folder counts. */
const isPostmasterOf = async (pid: number, data: string): Promise<boolean> => {
  if (!isAlive(pid)) return false
  const folder = await realpath(data)
  const where = await readlink(`/proc/${pid}/cwd`).catch(() => undefined)
  if (where !== undefined) return where === folder
  const command = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? ''
  return command.includes('postgres') && (command.includes(data) || command.includes(folder))
}

/** Tries a fast shutdown, then harder ones; the next start repairs those by recovery. */
const shutDown = async (pid: number): Promise<void> => {
  const steps: [NodeJS.Signals, number][] = [
    ['SIGINT', 20_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ]
  for (const [signal, timeoutMs] of steps) {
    process.kill(pid, signal)
    if (await hasEnded(pid, timeoutMs)) return
  }
}

const hasEnded = async (pid: number, timeoutMs: number): Promise<boolean> => {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await delay(30)) if (!isAlive(pid)) return true
  return !isAlive(pid)
}

/** Whether a process runs. A zombie, which has ended and was not waited for, does not. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}
