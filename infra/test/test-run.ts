import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../postgres/clear-stale-server.ts'
import { removeRunFolder } from './remove-run-folder.ts'

/** A run of the tests. Its temporary folder contains all files of the run except those of its PostgreSQL. */
export type TestRun = AsyncDisposable & {
  folder: string
  /** The environment of all processes of the run. TMPDIR identifies these processes later. */
  environment: { TMPDIR: string }
}

const PREFIX = 'sluice-test-run-'

/**
 * Removes the processes, mounts and files of killed test runs, and creates the temporary folder of this run. Disposal
 * removes those of this run.
 */
export const startTestRun = async (parent = tmpdir()): Promise<TestRun> => {
  await removeKilledRuns(parent)
  const folder = join(parent, `${PREFIX}${process.pid}`)
  await mkdir(folder)
  // All users can write, as in /tmp: servers that tests start as root run as other users.
  await chmod(folder, 0o1777)
  return {
    folder,
    environment: { TMPDIR: folder },
    [Symbol.asyncDispose]: () => removeRunFolder(folder),
  }
}

/** Removes folders of ended processes. A folder with the id of this process belongs to an earlier process. */
const removeKilledRuns = async (parent: string): Promise<void> => {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(PREFIX)) continue
    const pid = Number(name.slice(PREFIX.length))
    const folder = join(parent, name)
    const isOwnFolder = (await stat(folder)).uid === process.getuid?.()
    if (isOwnFolder && (pid === process.pid || !isAlive(pid))) await removeRunFolder(folder)
  }
}
