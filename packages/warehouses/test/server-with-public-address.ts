import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type NetConnectOpts, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@sluice/testing/free-port'
import { deleteDataFolder } from '../../../infra/postgres/accessible-folders.ts'
import { certificateFiles, ensureCertificates } from '../../../infra/postgres/certificates.ts'
import { startCluster } from '../../../infra/postgres/cluster.ts'
import { prepareWarehouseServer } from '../src/postgres/server/prepare-server.ts'
import { connected } from './scratch-warehouse.ts'

/**
 * A PostgreSQL server as `npm start` runs it with WAREHOUSE_PUBLIC_ADDRESS: with TLS, on all addresses of this machine.
 */
export interface PublicServer extends AsyncDisposable {
  port: number
  adminUrl: string
  superuserUrl: string
  /** The file with the rules for readers. */
  rulesFile: string
  /** The certificate of the authority, as text and in a file. */
  certificate: string
  certificateFile: string
  [Symbol.asyncDispose](): Promise<void>
}

export async function startPublicServer(settings: Record<string, string> = {}): Promise<PublicServer> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-public-'))
  const certificates = join(folder, 'certificates')
  const tls = ensureCertificates(certificates, ['localhost', '127.0.0.1'])
  const options = {
    folder: join(folder, 'data'),
    log: join(folder, 'postgres.log'),
    password: 'public-server',
    port: await freePort(),
    durable: false,
    settings: { listen_addresses: '*', max_connections: '60', ...settings },
    tls,
  }
  const cluster = await startCluster(options)
  const admin = 'warehouse'
  {
    await using superuser = await connected(cluster.url('postgres'))
    await superuser.query(`create role ${admin} login createdb createrole password '${admin}'`)
    await superuser.query(`create database ${admin} owner ${admin}`)
    await superuser.query('revoke connect on database warehouse, postgres, template1 from public')
  }
  await prepareWarehouseServer(cluster.url('postgres'), { admin, close: ['postgres', 'template1'] })
  const certificateFile = join(certificates, certificateFiles.authority)
  return {
    port: cluster.port,
    superuserUrl: cluster.url('postgres'),
    adminUrl: `postgres://${admin}:${admin}@127.0.0.1:${cluster.port}/${admin}?sslmode=disable`,
    rulesFile: cluster.rulesFile,
    certificate: await readFile(certificateFile, 'utf8'),
    certificateFile,
    async [Symbol.asyncDispose]() {
      await cluster.stop()
      await deleteDataFolder(options.folder)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Returns a socket for `pg` that connects from this address. Addresses in 127.0.0.0/8 other than 127.0.0.1 stand for
 * other machines.
 */
export function socketFrom(localAddress: string): Socket {
  const socket = new Socket()
  const connect = socket.connect.bind(socket) as (options: NetConnectOpts) => Socket
  return Object.assign(socket, {
    connect: (port: number, host: string) => connect({ port, host, localAddress }),
  })
}
