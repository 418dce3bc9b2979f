import { describe, expect, it } from '@jest/globals'
import { describeUnless } from '@sluice/testing/skip-tests'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'
import { databaseLimits, type DatabaseConfig } from '../database-config.ts'
import { testDatabaseConnection } from '../database-source.ts'
import { selfSigned } from './certificate.ts'
import { rawServers, somewhere } from './raw-tcp-servers.ts'
import { here } from './load-row-stream.ts'

const never = new AbortController().signal
const certificate = selfSigned()
const kinds = ['postgres', 'mysql', 'sql-server', 'oracle']
const limits = { ...databaseLimits, connect: 500, signIn: 1_500 }

describe('a connection test of an unreachable database', () => {
  const serve = rawServers()

  async function problem(changes: Partial<DatabaseConfig>, connectable = here) {
    const config = { ...somewhere, ...changes }
    const error = await testDatabaseConnection(config, connectable, never, limits).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ name: 'SourceProblem', message: expect.stringMatching(/\.$|It says: /) })
    expect((error as Error).message + (error as Error).stack).not.toContain(config.password)
    return (error as { code?: string } | undefined)?.code
  }

  it.each(kinds)(
    'reports a refused connection, an unknown host or an address that is not allowed (%s)',
    async (kind) => {
      expect(await problem({ kind })).toBe('CONNECTION_REFUSED')
      const unknown = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
      expect(await problem({ kind }, unknown)).toBe('HOST_UNKNOWN')
      const inside = () => Promise.reject(new Error('source.example leads to an address that is private.'))
      expect(await problem({ kind }, inside)).toBe('ADDRESS_NOT_ALLOWED')
    },
  )

  it.each(kinds)(
    'reports a timeout if the server sends nothing, and a closed connection if it hangs up (%s)',
    async (kind) => {
      expect(await problem({ kind, port: await serve(() => {}) })).toBe('CONNECTION_TIMEOUT')
      expect(await problem({ kind, port: await serve((socket) => socket.end()) })).toBe('CONNECTION_CLOSED')
    },
  )

  it('times out before the sign-in limit and suggests checking type and port if MySQL sends no greeting', async () => {
    const port = await serve(() => {})
    const config = { ...somewhere, kind: 'mysql' as const, port }
    const began = performance.now()
    const error = await testDatabaseConnection(config, here, never, { ...databaseLimits, greeting: 300 }).catch(
      (thrown) => thrown,
    )
    expect(error).toMatchObject({
      code: 'CONNECTION_TIMEOUT',
      message: expect.stringContaining('Check the type and the port.'),
    })
    expect(performance.now() - began).toBeLessThan(databaseLimits.signIn / 2)
  })

  it.each<[string, string[]]>([
    ['postgres', ['OTHER_PROTOCOL']],
    // What it takes for the beginning of a long packet never ends.
    ['mysql', ['OTHER_PROTOCOL', 'CONNECTION_TIMEOUT', 'CONNECTION_CLOSED']],
    ['sql-server', ['OTHER_PROTOCOL', 'CONNECTION_CLOSED', 'CONNECTION_TIMEOUT']],
    ['oracle', ['OTHER_PROTOCOL', 'CONNECTION_CLOSED', 'CONNECTION_TIMEOUT']],
  ])('reports a server with another protocol (%s)', async (kind, codes) => {
    const http = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
    const port = await serve((socket) => socket.once('data', () => socket.end(http)))
    expect(codes).toContain(await problem({ kind, port }))
    const ssh = await serve((socket) => socket.write('SSH-2.0-OpenSSH_9.2p1\r\n'))
    expect(codes).toContain(await problem({ kind, port: ssh }))
  })

  it('connects to the next address when the first does not respond', async () => {
    const port = await serve((socket) => socket.end())
    const both = async () => [
      { address: '127.0.0.3', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]
    expect(await problem({ port }, both)).toBe('CONNECTION_CLOSED')
  })

  describeUnless(certificate ? undefined : 'openssl is not installed')('with a self-signed certificate', () => {
    it('returns CERTIFICATE_NOT_TRUSTED for PostgreSQL', async () => {
      const { key, cert } = certificate!
      const port = await serve((socket) => {
        socket.once('data', () => {
          socket.write('S')
          new TLSSocket(socket, { isServer: true, key, cert }).on('error', () => {})
        })
      })
      expect(await problem({ port, ssl: true })).toBe('CERTIFICATE_NOT_TRUSTED')
    })

    it('returns CERTIFICATE_NOT_TRUSTED for Oracle', async () => {
      const server = createTlsServer(certificate!, () => {}).on('tlsClientError', () => {})
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as { port: number }
      expect(await problem({ kind: 'oracle', port, ssl: true })).toBe('CERTIFICATE_NOT_TRUSTED')
      server.close()
    })
  })

  it('does not interpret descriptor syntax in the host or database name of Oracle', async () => {
    expect(await problem({ kind: 'oracle', host: 'h)(address=(host=10.0.0.1)' })).toBe('HOST_UNKNOWN')
    expect(await problem({ kind: 'oracle', database: 'x))(connect_data=(sid=y' })).toBe('DATABASE_MISSING')
  })
})
