import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareWarehouseServer } from '@sluice/warehouses/postgres/server/prepare-server'
import { type Cluster, startCluster } from '../../../../infra/postgres/cluster.ts'
import { deleteDataFolder } from '../../../../infra/postgres/accessible-folders.ts'
import { freePort } from '@sluice/testing/free-port'
import type { Stack } from '../worker/worker-stack.ts'
import { connected } from '@sluice/warehouses/testing/scratch-warehouse'

/** A warehouse's server for tests that break it. */
export interface OwnWarehouse extends AsyncDisposable {
  /** For workers: an administrator as in production. */
  adminUrl: string
  /** The superuser's way to one of its databases. */
  url(database: string): string
  /**
   * Stops the server immediately, as after a power cut, so that the next start recovers. Resolves when it accepts
   * connections again.
   */
  restart(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The same stack with its warehouses on that server. */
export function on(own: OwnWarehouse, stack: Stack): Stack {
  return {
    ...stack,
    environment: { ...stack.environment, WAREHOUSE_DATABASE_URL: own.adminUrl },
    async inside(client) {
      const { key } = await stack.db
        .selectFrom('warehouses')
        .select('key')
        .where('client', '=', client)
        .executeTakeFirstOrThrow()
      return connected(own.url(`c_${key}`))
    },
  }
}

export async function startOwnWarehouse(): Promise<OwnWarehouse> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-warehouse-'))
  const options = {
    folder: join(folder, 'data'),
    log: join(folder, 'postgres.log'),
    password: 'own-warehouse',
    port: await freePort(),
    durable: false,
    // The server is killed, the machine stays up: what is committed has to be in the log by then, not on the disk.
    settings: { max_connections: '60', synchronous_commit: 'on', log_min_messages: 'fatal' },
  }
  let cluster: Cluster = await startCluster(options)
  const admin = 'own_admin'
  {
    await using superuser = await connected(cluster.url('postgres'))
    await superuser.query(`create role ${admin} login createdb createrole password '${admin}'`)
  }
  await prepareWarehouseServer(cluster.url('postgres'), { admin })
  const adminUrl = Object.assign(new URL(cluster.url('postgres')), { username: admin, password: admin }).href
  return {
    adminUrl,
    url: (database) => cluster.url(database),
    async restart() {
      cluster.kill()
      await cluster.ended
      cluster = await startCluster(options)
    },
    async [Symbol.asyncDispose]() {
      await cluster.stop()
      await deleteDataFolder(options.folder)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
