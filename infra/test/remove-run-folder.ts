import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'

/**
 * Ends the processes of a test run, unmounts what is mounted in its folder, and deletes the folder. A process belongs to
 * the run when its environment names the folder, as TMPDIR or otherwise. Finds processes and mounts on Linux only.
 */
export const removeRunFolder = async (folder: string): Promise<void> => {
  await endProcesses(folder)
  for (const mount of (await mountsIn(folder)).toReversed()) await promisify(execFile)('umount', [mount])
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
  for (const began = Date.now(); ; await delay(30)) {
    const pids = processesOf(folder)
    if (pids.length === 0) return
    const elapsed = Date.now() - began
    if (elapsed > killTimeoutMs) throw new Error(`Processes ${pids.join(', ')} use ${folder} and cannot be ended.`)
    for (const pid of pids) signal(pid, isPostgres(pid) && elapsed < shutdownTimeoutMs ? 'SIGQUIT' : 'SIGKILL')
  }
}

/** Process ids, without this process. */
const processesOf = (folder: string): number[] =>
  processIds().filter((pid) => pid !== process.pid && environmentOf(pid).some((entry) => pointsInto(entry, folder)))

const processIds = (): number[] => {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isSafeInteger)
  } catch {
    return []
  }
}

/** Entries such as `TMPDIR=/tmp`. Empty for processes of other users, and for processes that have ended. */
const environmentOf = (pid: number): string[] => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** PWD does not count: somebody may look at the folder in a shell. */
const pointsInto = (entry: string, folder: string): boolean => {
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

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Mount points in a folder, in the order in which they were mounted. */
const mountsIn = async (folder: string): Promise<string[]> => {
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '')
  return mounts
    .split('\n')
    .map((line) => (line.split(' ')[1] ?? '').replaceAll('\\040', ' '))
    .filter((path) => path.startsWith(`${folder}/`))
}
