import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Cluster, startCluster } from '../postgres/cluster.ts'
import { rotate } from './logs.ts'
import type { Secrets } from './secrets.ts'
import { logFile, type Settings } from './settings.ts'

/** Loads stream whole tables in: a larger log between checkpoints; both services and every client's warehouse connect. */
const FOR_LOADS = {
  max_connections: '200',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  shared_buffers: '256MB',
  log_min_error_statement: 'panic',
}

/** The PostgreSQL of this installation; started again on its port when it dies. */
export const startPostgres = async (
  settings: Settings,
  { postgres }: Secrets,
  say: (line: string) => void,
): Promise<Cluster> => {
  const log = logFile(settings, 'postgres')
  rotate(log)
  const options = {
    folder: join(settings.state, 'postgres'),
    log,
    password: postgres,
    port: 15_432,
    settings: FOR_LOADS,
  }
  let cluster = await startCluster(options)
  const { port } = cluster
  let stopping = false
  const life = (async () => {
    for (;;) {
      await cluster.ended
      if (stopping) return
      say(`PostgreSQL ended by itself and is started again. Its log: ${log}`)
      await delay(1_000)
      if (stopping) return
      cluster = await startCluster({ ...options, port })
    }
  })().catch((error: Error) => say(`PostgreSQL cannot be started again: ${error.message}`))
  const stop = async (): Promise<void> => {
    stopping = true
    await cluster.stop()
    await life
  }
  return { ...cluster, stop, kill: () => cluster.kill(), [Symbol.asyncDispose]: stop }
}
