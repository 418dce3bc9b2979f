import { afterAll, describe, expect, it } from '@jest/globals'
import { createServer, type Server, type Socket } from 'node:net'
import { databaseLimits, type DatabaseConfig } from '../database-config.ts'
import { testDatabaseConnection } from '../database-source.ts'
import { somewhere } from './raw-tcp-servers.ts'
import { here } from './load-row-stream.ts'

const never = new AbortController().signal
const limits = { ...databaseLimits, signIn: 2_000 }

/** A packet of TDS that answers, whole: https://learn.microsoft.com/openspecs/windows_protocols/ms-tds. */
function answer(payload: Buffer): Buffer {
  const header = Buffer.from([0x04, 0x01, 0, 0, 0, 0, 1, 0])
  header.writeUInt16BE(header.length + payload.length, 2)
  return Buffer.concat([header, payload])
}

/** PRELOGIN: version 16, and no encryption to be had. */
const preLogin = answer(Buffer.from([0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2]))

/** ERROR and DONE. */
function refusal(number: number, message: string): Buffer {
  const text = Buffer.from(message, 'utf16le')
  const token = Buffer.alloc(11 + text.length + 6)
  token.writeUInt8(0xaa)
  token.writeUInt16LE(token.length - 3, 1)
  token.writeInt32LE(number, 3)
  token.set([1, 14], 7)
  token.writeUInt16LE(message.length, 9)
  token.set(text, 11)
  return answer(Buffer.concat([token, Buffer.from([0xfd, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])]))
}

describe('sign-in to a simulated SQL Server', () => {
  const servers: Server[] = []
  afterAll(() => servers.forEach((server) => server.close()))

  async function problem(login: Buffer, changes: Partial<DatabaseConfig> = {}) {
    const server = createServer((socket: Socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.write(preLogin)
        socket.once('data', () => socket.write(login))
      })
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const config: DatabaseConfig = { ...somewhere, kind: 'sql-server', port, ...changes }
    return testDatabaseConnection(config, here, never, limits).catch((error: Error) => error)
  }

  it.each([
    [18456, "Login failed for user 'reader'.", 'AUTHENTICATION_FAILED'],
    [4060, 'Cannot open database "shop" requested by the login. The login failed.', 'DATABASE_MISSING'],
  ])('maps error number %i to a problem code', async (number, message, code) => {
    expect(await problem(refusal(number, message))).toMatchObject({ name: 'SourceProblem', code })
  })

  it('returns TLS_NOT_OFFERED if the server does not support encryption', async () => {
    expect(await problem(refusal(18456, 'no'), { ssl: true })).toMatchObject({ code: 'TLS_NOT_OFFERED' })
  })
})
