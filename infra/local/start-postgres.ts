import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Cluster, startCluster } from '../postgres/cluster.ts'
import { ensureCertificates } from '../postgres/certificates.ts'
import { rotateLog } from './rotate-logs.ts'
import type { Secrets } from './secrets.ts'
import { certificatesFolder, logFile, type Settings } from './settings.ts'

/** Server settings for loads, which write whole tables. Both services and all clients use the same server. */
const LOAD_SETTINGS = {
  max_connections: '250',
  // Only the services' roles can use them, so readers of the warehouse cannot stop the services.
  reserved_connections: '100',
  // Statements of clients are cancelled at 2,000 locks. The services' own databases are in the same server.
  max_locks_per_transaction: '512',
  max_wal_size: '4GB',
  // PostgreSQL reuses log files instead of creating new ones, so two COPYs wait less for each other.
  min_wal_size: '2GB',
  wal_buffers: '64MB',
  // The log is written before a COPY writes the pages that it describes, so the COPY does not wait for it.
  wal_writer_delay: '10ms',
  checkpoint_timeout: '15min',
  shared_buffers: '256MB',
}

/**
 * Settings for connections from other machines. Unauthenticated connections use a slot, so they end after ten seconds.
 */
const READER_SETTINGS = { listen_addresses: '*', authentication_timeout: '10s' }

/**
 * Returns the server's certificate if the warehouse has a public address. Only readers can connect from other machines:
 * the other rules of pg_hba.conf apply to connections from this machine.
 */
const findOrCreateCertificate = (settings: Settings) => {
  const { warehouseAddress } = settings
  if (!warehouseAddress) return undefined
  return ensureCertificates(certificatesFolder(settings), [warehouseAddress.host, 'localhost', '127.0.0.1'])
}

/** Starts the PostgreSQL of this installation. If it dies, it is started again on the same port. */
export const startPostgres = async (
  settings: Settings,
  { postgres }: Secrets,
  printWarning: (line: string) => void,
): Promise<Cluster> => {
  const log = logFile(settings, 'postgres')
  rotateLog(log)
  const options = {
    folder: join(settings.state, 'postgres'),
    log,
    password: postgres,
    port: 15_432,
    settings: { ...LOAD_SETTINGS, ...(settings.warehouseAddress && READER_SETTINGS) },
    tls: findOrCreateCertificate(settings),
  }
  let cluster = await startCluster(options)
  const { port } = cluster
  const stopping = new AbortController()
  const restart = async (): Promise<void> => {
    for (let pause = 1_000; !stopping.signal.aborted; pause = Math.min(pause * 2, 30_000)) {
      printWarning(`PostgreSQL ended unexpectedly and is restarted in ${pause / 1000} s. Its log: ${log}`)
      await delay(pause, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return
      const next = await startCluster({ ...options, port }).catch((error: Error) => printWarning(error.message))
      if (next) return void (cluster = next)
    }
  }
  const supervision = (async () => {
    for (;;) {
      await cluster.ended
      if (stopping.signal.aborted) return
      await restart()
      // `stop` was called during the restart.
      if (stopping.signal.aborted) return cluster.stop()
    }
  })()
  const stop = async (): Promise<void> => {
    stopping.abort()
    await cluster.stop()
    await supervision
  }
  return { ...cluster, stop, kill: () => cluster.kill(), [Symbol.asyncDispose]: stop }
}
