import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { warehouseDrivers } from './warehouse-registry.ts'

const settings = { role: 'default', staging: 's3://b', region: 'eu-west-1', accessKey: 'a', secretKey: 's' }

describe('the readiness checks of warehouse servers', () => {
  it('succeed if the port accepts connections, and fail if it refuses them', async () => {
    const server = createServer((socket) => void socket.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? address!.port : 0
    const of = (scheme: string) => `${scheme}://admin:secret@127.0.0.1:${port}/pool`
    const kinds = warehouseDrivers({
      SQLSERVER_URL: of('mssql'),
      SYNAPSE_URL: of('mssql'),
      redshift: { ...settings, url: of('postgres'), endpoint: undefined },
    })
    expect(kinds.map(({ part }) => part.name)).toEqual(['sql-server', 'synapse', 'redshift'])
    for (const { part } of kinds) await part.check()
    server.close()
    await once(server, 'close')
    for (const { part } of kinds) await expect(part.check()).rejects.toThrow('ECONNREFUSED')
  })
})
