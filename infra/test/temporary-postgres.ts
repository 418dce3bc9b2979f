import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { state } from '../paths.ts'
import { type Cluster, startCluster } from '../postgres/cluster.ts'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'
import { linkToMemory } from './in-memory-folder.ts'
import { deleteStaleClusters } from './delete-stale-clusters.ts'

/**
 * Starts a new PostgreSQL for one run of a command, in a separate folder. It is fast instead of durable, and disposal
 * deletes it. Also deletes the clusters of killed runs.
 */
export const startTemporaryPostgres = async (): Promise<Cluster> => {
  const clustersFolder = join(state, 'test-postgres')
  await deleteStaleClusters(clustersFolder)
  const folder = join(clustersFolder, String(process.pid))
  await linkToMemory(join(folder, 'data'))
  const cluster = await startCluster({
    folder: join(folder, 'data'),
    log: join(folder, 'postgres.log'),
    password: randomBytes(24).toString('base64url'),
    port: 16432,
    durable: false,
    // A longer nap time means fewer autovacuum processes. Test databases are too short-lived to need autovacuum.
    settings: { max_connections: '600', log_min_messages: 'warning', autovacuum_naptime: '10min' },
  })
  const stop = async (): Promise<void> => {
    await cluster.stop()
    await deleteDataFolder(join(folder, 'data'))
    await rm(folder, { recursive: true, force: true })
  }
  return { ...cluster, stop, [Symbol.asyncDispose]: stop }
}
