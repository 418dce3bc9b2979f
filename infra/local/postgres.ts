import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Cluster, startCluster } from '../postgres/cluster.ts'
import { rotate } from './logs.ts'
import type { Secrets } from './secrets.ts'
import { logFile, type Settings } from './settings.ts'

/** Loads stream whole tables in: a larger log between checkpoints; both services and every client's warehouse connect. */
const FOR_LOADS = {
  max_connections: '200',
  // Clients' statements are stopped at 2,000 locks. The services' own databases are in this server, so there is room for many of them.
  max_locks_per_transaction: '512',
  max_wal_size: '4GB',
  // Files of the log are used again instead of made anew, and two COPYs wait less for each other to write it.
  min_wal_size: '2GB',
  wal_buffers: '64MB',
  // The log is on the disk before a COPY comes to write the pages that it is about, which otherwise waits for it.
  wal_writer_delay: '10ms',
  checkpoint_timeout: '15min',
  shared_buffers: '256MB',
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
  const stopping = new AbortController()
  const startAgain = async (): Promise<void> => {
    for (let pause = 1_000; !stopping.signal.aborted; pause = Math.min(pause * 2, 30_000)) {
      say(`PostgreSQL ended by itself and is started again in ${pause / 1000} s. Its log: ${log}`)
      await delay(pause, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return
      const next = await startCluster({ ...options, port }).catch((error: Error) => say(error.message))
      if (next) return void (cluster = next)
    }
  }
  const life = (async () => {
    for (;;) {
      await cluster.ended
      if (stopping.signal.aborted) return
      await startAgain()
      // Told to stop while it was starting.
      if (stopping.signal.aborted) return cluster.stop()
    }
  })()
  const stop = async (): Promise<void> => {
    stopping.abort()
    await cluster.stop()
    await life
  }
  return { ...cluster, stop, kill: () => cluster.kill(), [Symbol.asyncDispose]: stop }
}
