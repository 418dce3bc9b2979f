import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isAlive } from '../postgres/clear-stale-server.ts'
import { UserError } from '../user-error.ts'

/**
 * Locks the state folder for this process, and returns the function that unlocks it. Throws UserError if another start
 * is running there. Takes over the lock of a killed start.
 */
export const acquireStartLock = async (state: string): Promise<() => void> => {
  const file = join(state, 'running')
  const release = (): void => {
    if (readLockFile(file) === process.pid) rmSync(file, { force: true })
  }
  if (createLockFile(file)) return release
  if (isRunningStart(readLockFile(file))) throw alreadyRunningError(readLockFile(file))
  rmSync(file, { force: true })
  if (!createLockFile(file)) throw alreadyRunningError(readLockFile(file))
  // Two starts may take over the same lock; the later one keeps it.
  await delay(50)
  if (readLockFile(file) !== process.pid) throw alreadyRunningError(readLockFile(file))
  return release
}

const alreadyRunningError = (pid: number): UserError =>
  new UserError(
    `Sluice is already running here (process ${pid}). Use it, or stop it first with Ctrl-C in its terminal or "kill ${pid}".`,
  )

/** Creates the lock file with the id of this process. Returns false if it exists. */
const createLockFile = (file: string): boolean => {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Returns the process id in the lock file, or 0 without one. */
const readLockFile = (file: string): number => {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}

/** Returns whether the process is a start of Sluice. Process ids are reused, so the command line is checked. */
const isRunningStart = (pid: number): boolean => {
  if (!pid || pid === process.pid || !isAlive(pid)) return false
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('infra/local/')
  } catch {
    return /infra\/local\//.test(
      spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '',
    )
  }
}
