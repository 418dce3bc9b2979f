import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { stopStaleServer, isAlive } from '../postgres/clear-stale-server.ts'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'

/** Stops and deletes the clusters of test runs that were killed: folders named by the id of a process that has ended. */
export const sweep = async (folder: string): Promise<void> => {
  const names = await readdir(folder).catch(() => [])
  for (const name of names.filter((name) => !isAlive(Number(name)))) {
    await stopStaleServer(join(folder, name, 'data', 'cluster'))
    await deleteDataFolder(join(folder, name, 'data'))
    await rm(join(folder, name), { recursive: true, force: true })
  }
}
