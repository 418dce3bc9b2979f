import { describe, expect, it } from '@jest/globals'
import { itUnless } from '@sluice/testing/skip-tests'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { databaseLimits, type DatabaseConfig } from '../database-config.ts'
import { testDatabaseConnection } from '../database-source.ts'
import { selfSigned } from './certificate.ts'
import { rawServers, somewhere } from './raw-tcp-servers.ts'
import { here } from './load-row-stream.ts'

const never = new AbortController().signal
const mega = 1024 * 1024
const certificate = selfSigned()
const config: DatabaseConfig = { ...somewhere, password: '', trustServerCertificate: true }

describe('a malicious database server', () => {
  const serve = rawServers()

  const tried = (changes: Partial<DatabaseConfig>) =>
    testDatabaseConnection({ ...config, ...changes }, here, never, databaseLimits).catch((error: unknown) => error)

  /** Sends a piece again and again, as long as somebody reads, and counts what was taken. */
  function flood(to: Duplex, piece: (index: number) => Buffer) {
    const sent = { bytes: 0 }
    const more = () => {
      for (let index = 0; !to.destroyed; index++) {
        const bytes = piece(index)
        sent.bytes += bytes.length
        if (!to.write(bytes)) return to.once('drain', more)
      }
    }
    more()
    return sent
  }

  const zeros = Buffer.alloc(64 * 1024)
  const postgresOk = Buffer.from('5200000008000000005a0000000549', 'hex')
  const hugeRow = Buffer.from('447fffffff', 'hex')

  it('does not receive the password or settings of the process environment or .pgpass', async () => {
    const heard = Promise.withResolvers<string>()
    const got: Buffer[] = []
    const port = await serve((socket) => {
      socket.once('data', (startup) => {
        got.push(startup)
        socket.write(Buffer.from('520000000800000003', 'hex'))
        socket.once('data', (password) => {
          heard.resolve(Buffer.concat([...got, password]).toString('latin1'))
          socket.destroy()
        })
      })
    })
    const home = await mkdtemp(join(tmpdir(), 'sluice-home-'))
    await writeFile(join(home, '.pgpass'), '*:*:*:*:operators-file\n', { mode: 0o600 })
    const source = new URL('../database-source.ts', import.meta.url).href
    const program = `const { testDatabaseConnection } = await import(${JSON.stringify(source)})
      const here = async () => [{ address: '127.0.0.1', family: 4 }]
      await testDatabaseConnection(${JSON.stringify({ ...config, port })}, here, new AbortController().signal).catch(() => {})`
    const env = {
      ...process.env,
      HOME: home,
      PGPASSWORD: 'operators-own',
      PGOPTIONS: '-c search_path=operators',
      PGAPPNAME: 'operators',
    }
    await writeFile(join(home, 'try.mjs'), program)
    await promisify(execFile)(process.execPath, [join(home, 'try.mjs')], { env })
    const all = await heard.promise
    await rm(home, { recursive: true })
    expect(all).toContain('reader')
    expect(all).not.toContain('operators')
    expect(all.endsWith('p\0\0\0\x05\0')).toBe(true)
  })

  it('is disconnected when it sends endless data before sign-in (PostgreSQL)', async () => {
    let sent = { bytes: 0 }
    const port = await serve((socket) => {
      socket.once('data', () => {
        socket.write(Buffer.from('527fffffff', 'hex'))
        sent = flood(socket, () => zeros)
      })
    })
    expect(await tried({ port })).toMatchObject({ name: 'SourceProblem', code: 'OTHER_PROTOCOL' })
    expect(sent.bytes).toBeLessThan(32 * mega)
  })

  it('is disconnected when it sends endless data before sign-in (MySQL)', async () => {
    let sent = { bytes: 0 }
    const packet = Buffer.alloc(4 + 0xff_ff_ff)
    const port = await serve((socket) => {
      sent = flood(socket, (index) => {
        packet.writeUInt32LE(((index & 255) * 0x1_00_00_00 + 0xff_ff_ff) >>> 0)
        return packet
      })
    })
    expect(await tried({ kind: 'mysql', port })).toMatchObject({ name: 'SourceProblem', code: 'OTHER_PROTOCOL' })
    expect(sent.bytes).toBeLessThan(40 * mega)
  })

  it('is disconnected when it sends endless data before sign-in (Oracle)', async () => {
    let sent = { bytes: 0 }
    // Each asks for the first packet once more.
    const again = Buffer.concat(Array.from({ length: 8_192 }, () => Buffer.from('000800000b000000', 'hex')))
    const port = await serve((socket) => {
      socket.once('data', () => {
        socket.resume()
        sent = flood(socket, () => again)
      })
    })
    expect(await tried({ kind: 'oracle', port })).toMatchObject({ name: 'SourceProblem', code: 'OTHER_PROTOCOL' })
    expect(sent.bytes).toBeLessThan(64 * mega)
  })

  const startsHugeMessage = (ssl: boolean) => async () => {
    let sent = { bytes: 0 }
    const speak = (stream: Duplex) => {
      stream.on('error', () => {})
      stream.once('data', () => {
        stream.write(Buffer.concat([postgresOk, hugeRow]))
        sent = flood(stream, () => zeros)
      })
    }
    const port = await serve((socket) => {
      if (!ssl) return speak(socket)
      socket.once('data', () => {
        socket.write('S')
        speak(new TLSSocket(socket, { isServer: true, ...certificate }))
      })
    })
    expect(await tried({ port, ssl })).toMatchObject({ name: 'SourceProblem', code: 'MESSAGE_TOO_LONG' })
    expect(sent.bytes).toBeLessThan(32 * mega)
  }
  it('is disconnected when it starts a message of 2 GB (PostgreSQL)', startsHugeMessage(false))
  itUnless(certificate ? undefined : 'openssl is not installed')(
    'is disconnected when it starts a message of 2 GB (PostgreSQL, TLS)',
    startsHugeMessage(true),
  )

  it('is reported for what it did, although the transaction cannot be rolled back after that (PostgreSQL)', async () => {
    const complete = Buffer.from('43000000074f4b005a0000000554', 'hex')
    const completeExtended = Buffer.concat([Buffer.from('310000000432000000046e00000004', 'hex'), complete])
    const port = await serve((socket) => {
      socket.once('data', () => {
        socket.write(postgresOk)
        let isDescribed = false
        socket.on('data', (received) => {
          if (isDescribed) socket.write(hugeRow)
          else socket.write(received[0] === 0x51 ? complete : completeExtended)
          isDescribed = received.includes('savepoint statement')
        })
      })
    })
    expect(await tried({ port })).toMatchObject({ name: 'SourceProblem', code: 'MESSAGE_TOO_LONG' })
  })

  it('is disconnected when it sends endless rows during a connection test (PostgreSQL)', async () => {
    const row = Buffer.alloc(1 + 4 + 2 + 4 + 100_000)
    row[0] = 0x44
    row.writeUInt32BE(row.length - 1, 1)
    row.writeUInt16BE(1, 5)
    row.writeUInt32BE(100_000, 7)
    const port = await serve((socket) => {
      socket.once('data', () => {
        socket.write(postgresOk)
        socket.once('data', () => {
          socket.write(Buffer.from('540000001a0001780000000000000000000019ffffffffffff0000', 'hex'))
          flood(socket, () => row)
        })
      })
    })
    expect(await tried({ port })).toMatchObject({ name: 'SourceProblem', code: 'MESSAGE_TOO_LONG' })
  })

  it('is disconnected when one packet does not end (MySQL)', async () => {
    let sent = { bytes: 0 }
    const greeting = Buffer.concat([
      Buffer.from('\x0a8.0.0\0\x01\0\0\0saltsalt\0', 'latin1'),
      Buffer.from('00822d02000800150000000000000000000000', 'hex').subarray(0, 8),
      Buffer.alloc(10),
      Buffer.from('saltsaltsalt\0mysql_native_password\0', 'latin1'),
    ])
    const packet = Buffer.alloc(4 + 0xff_ff_ff)
    const framed = (sequence: number, body: Buffer) => Buffer.concat([Buffer.from([body.length, 0, 0, sequence]), body])
    const port = await serve((socket) => {
      socket.write(framed(0, greeting))
      socket.once('data', () => {
        socket.write(framed(2, Buffer.from('00000002000000', 'hex')))
        socket.once('data', () => {
          sent = flood(socket, (index) => {
            packet.writeUInt32LE((((index + 1) & 255) * 0x1_00_00_00 + 0xff_ff_ff) >>> 0)
            return packet
          })
        })
      })
    })
    expect(await tried({ kind: 'mysql', port })).toMatchObject({ name: 'SourceProblem', code: 'MESSAGE_TOO_LONG' })
    expect(sent.bytes).toBeGreaterThan(60 * mega)
    expect(sent.bytes).toBeLessThan(160 * mega)
  })
})
