import { deepStrictEqual, strictEqual } from 'node:assert'
import { databases, services, type Stack } from './compose-project.ts'

/** The databases that each service can connect to. */
const allowedDatabases: Record<(typeof services)[number], readonly string[]> = {
  identity: ['identity-db'],
  pipeline: ['pipeline-db', 'warehouse-db'],
  'pipeline-worker': ['pipeline-db', 'warehouse-db'],
}

/**
 * Throws unless exactly two ports are published, on loopback only, and each service can connect only to its own
 * databases.
 */
export const assertNetworkExposure = async (stack: Stack): Promise<void> => {
  const containers = await stack.containers()
  const published = [...containers].flatMap(([service, { NetworkSettings }]) =>
    Object.entries(NetworkSettings.Ports).flatMap(([port, bindings]) =>
      (bindings ?? []).map(({ HostIp, HostPort }) => `${service} ${port} at http://${HostIp}:${HostPort}`),
    ),
  )
  deepStrictEqual(published.toSorted(), [
    `identity 3001/tcp at ${stack.identityUrl}`,
    `pipeline 3002/tcp at ${stack.pipelineUrl}`,
  ])

  for (const service of services) {
    for (const database of databases) {
      const address = Object.values(containers.get(database)?.NetworkSettings.Networks ?? {})[0]?.IPAddress ?? ''
      strictEqual(
        await canConnect(stack, service, address),
        allowedDatabases[service].includes(database),
        `${service} reaches ${database}`,
      )
    }
  }
}

/**
 * Returns whether a service can connect to an IP address. A host name would not do, because a network may hide the name
 * only.
 */
const canConnect = async (stack: Stack, service: string, address: string): Promise<boolean> => {
  const script = `const socket = require('net').connect({ host: '${address}', port: 5432, timeout: 1500 })
    const end = (word) => { console.log(word); process.exit() }
    socket.on('connect', () => end('yes')).on('timeout', () => end('no')).on('error', () => end('no'))`
  return (await stack.execute(service, 'node', '--eval', script)).trim() === 'yes'
}
