import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'

/**
 * Ends the processes of a test run, unmounts the mounts in its folder, and deletes the folder. A process belongs to the
 * run if a variable of its environment contains the folder, such as TMPDIR. Finds processes and mounts on Linux only.
 */
export const removeRunFolder = async (folder: string): Promise<void> => {
  await endProcesses(folder)
  for (const mount of (await listMounts(folder)).toReversed()) await promisify(execFile)('umount', [mount])
  // The data folder of a PostgreSQL can be a link to a folder outside (see ../postgres/accessible-folders.ts).
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries)
    if (entry.isSymbolicLink() && entry.name === 'data') await deleteDataFolder(join(entry.parentPath, entry.name))
  await rm(folder, { recursive: true, force: true })
}

/** Milliseconds. PostgreSQL needs a moment to release its shared memory. */
const shutdownTimeoutMs = 10_000
const killTimeoutMs = 30_000

const endProcesses = async (folder: string): Promise<void> => {
  for (const startedAt = Date.now(); ; await delay(30)) {
    const pids = findProcesses(folder)
    if (pids.length === 0) return
    const elapsed = Date.now() - startedAt
    if (elapsed > killTimeoutMs) throw new Error(`Processes ${pids.join(', ')} use ${folder} and could not be killed.`)
    for (const pid of pids) sendSignal(pid, isPostgres(pid) && elapsed < shutdownTimeoutMs ? 'SIGQUIT' : 'SIGKILL')
  }
}

/** Returns the ids of the processes of a run, without this process. */
const findProcesses = (folder: string): number[] =>
  listProcessIds().filter((pid) => pid !== process.pid && readEnvironment(pid).some((entry) => refersTo(entry, folder)))

const listProcessIds = (): number[] => {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isSafeInteger)
  } catch {
    return []
  }
}

/** Returns entries such as `TMPDIR=/tmp`. Returns none for ended processes and processes of other users. */
const readEnvironment = (pid: number): string[] => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** Returns whether a variable contains the folder. PWD is ignored, because a shell may be open in the folder. */
const refersTo = (entry: string, folder: string): boolean => {
  const [name, value = ''] = entry.split('=', 2)
  return name !== 'PWD' && name !== 'OLDPWD' && (value === folder || value.startsWith(`${folder}/`))
}

const isPostgres = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8') === 'postgres\n'
  } catch {
    return false
  }
}

const sendSignal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Returns the mount points in a folder, in the order of their mounting. */
const listMounts = async (folder: string): Promise<string[]> => {
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '')
  return mounts
    .split('\n')
    .map((line) => (line.split(' ')[1] ?? '').replaceAll('\\040', ' '))
    .filter((path) => path.startsWith(`${folder}/`))
}
