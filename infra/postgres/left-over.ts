import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, readlink, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Ends what an earlier run may have left in a data folder: a postmaster still at work (its parent was killed) is shut
 * down, a postmaster.pid whose process is gone, or is by now something else, is removed. PostgreSQL would refuse on both.
 */
export const clearLeftOver = async (data: string): Promise<void> => {
  const file = join(data, 'postmaster.pid')
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10)
  if (pid > 1 && (await isPostmasterOf(pid, data))) await shutDown(pid)
  await rm(file, { force: true })
}

/** Process ids are used again after a restart of the machine: only a process that sits in this data folder is ours. */
const isPostmasterOf = async (pid: number, data: string): Promise<boolean> => {
  if (!isAlive(pid)) return false
  const folder = await realpath(data)
  const where = await readlink(`/proc/${pid}/cwd`).catch(() => undefined)
  if (where !== undefined) return where === folder
  const command = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? ''
  return command.includes('postgres') && (command.includes(data) || command.includes(folder))
}

/** Fast shutdown (sessions are ended, data is written), then the hard way; recovery at the next start mends the latter. */
const shutDown = async (pid: number): Promise<void> => {
  const steps: [NodeJS.Signals, number][] = [
    ['SIGINT', 20_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ]
  for (const [signal, patience] of steps) {
    process.kill(pid, signal)
    if (await hasEnded(pid, patience)) return
  }
}

const hasEnded = async (pid: number, patience: number): Promise<boolean> => {
  for (const end = Date.now() + patience; Date.now() < end; await delay(30)) if (!isAlive(pid)) return true
  return !isAlive(pid)
}

/** Whether a process is at work. One that has ended and was not waited for yet (a zombie) is not. */
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
