import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { stopStaleServer, isAlive } from '../postgres/clear-stale-server.ts'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'

/**
 * Stops and deletes the clusters of killed test runs. The name of a cluster folder is the process id of its test run.
 */
export const deleteStaleClusters = async (folder: string): Promise<void> => {
  const names = await readdir(folder).catch(() => [])
  for (const name of names.filter((name) => !isAlive(Number(name)))) {
    await stopStaleServer(join(folder, name, 'data', 'cluster'))
    await deleteDataFolder(join(folder, name, 'data'))
    await rm(join(folder, name), { recursive: true, force: true })
  }
}
