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

/**
 * Returns whether the process is a postmaster in this data folder. Process ids are reused, so the id alone is not
 * enough.
 */
const isPostmasterOf = async (pid: number, data: string): Promise<boolean> => {
  if (!isAlive(pid)) return false
  const folder = await realpath(data)
  const where = await readlink(`/proc/${pid}/cwd`).catch(() => undefined)
  if (where !== undefined) return where === folder
  const command = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? ''
  return command.includes('postgres') && (command.includes(data) || command.includes(folder))
}

/** Tries a fast shutdown, then an immediate one, then SIGKILL. After the last two, the next start runs recovery. */
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

/** Returns whether a process runs. A zombie process does not run. */
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
