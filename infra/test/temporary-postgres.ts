import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { state } from '../paths.ts'
import { type Cluster, startCluster } from '../postgres/cluster.ts'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'
import { linkToMemory } from './memory-folder.ts'
import { sweep } from './delete-stale-clusters.ts'

/**
 * A PostgreSQL for one run of a command: new, fast instead of durable, deleted when it is disposed of. Runs at the same
 * time do not meet; what killed runs left is removed here.
 */
export const startTemporaryPostgres = async (): Promise<Cluster> => {
  const all = join(state, 'test-postgres')
  await sweep(all)
  const folder = join(all, String(process.pid))
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
