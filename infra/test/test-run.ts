import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../postgres/clear-stale-server.ts'
import { removeRunFolder } from './remove-run-folder.ts'

/** One run of the tests. Its temporary folder holds everything that the run creates outside its own PostgreSQL. */
export type TestRun = AsyncDisposable & {
  folder: string
  /** For every process of the run. TMPDIR is also what identifies these processes later. */
  environment: { TMPDIR: string }
}

const PREFIX = 'sluice-test-run-'

/**
 * Removes what killed test runs have left (processes, mounts, files), and creates the temporary folder of this run.
 * Disposing does the same for this run.
 */
export const startTestRun = async (parent = tmpdir()): Promise<TestRun> => {
  await removeKilledRuns(parent)
  const folder = join(parent, `${PREFIX}${process.pid}`)
  await mkdir(folder)
  // Like /tmp: database and web servers that tests start as root run as other users.
  await chmod(folder, 0o1777)
  return {
    folder,
    environment: { TMPDIR: folder },
    [Symbol.asyncDispose]: () => removeRunFolder(folder),
  }
}

/** A folder with this process's id was left by an earlier process that had the same id. */
const removeKilledRuns = async (parent: string): Promise<void> => {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(PREFIX)) continue
    const pid = Number(name.slice(PREFIX.length))
    const folder = join(parent, name)
    const isOurs = (await stat(folder)).uid === process.getuid?.()
    if (isOurs && (pid === process.pid || !isAlive(pid))) await removeRunFolder(folder)
  }
}
