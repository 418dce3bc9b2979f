import { describe, expect, it } from '@jest/globals'
import { itUnless } from '@sluice/testing/skip-tests'
import type { Socket } from 'node:net'
import { answerTokens, loginToken } from '@sluice/warehouses/testing/responses'
import { inPackets, kinds, messagesOf } from '@sluice/warehouses/testing/packets'
import { tdsStandIn } from '@sluice/warehouses/testing/stand-in'
import { databaseLimits, type DatabaseConfig } from '../database-config.ts'
import { createDatabaseSource, testDatabaseConnection } from '../database-source.ts'
import { selfSigned } from './certificate.ts'
import { rawServers, somewhere } from './raw-tcp-servers.ts'
import { here, listener } from './load-row-stream.ts'
import { tlsInTds } from './tds-tls.ts'

const never = new AbortController().signal
const certificate = selfSigned()
const mega = 1024 * 1024
const preLogin = Buffer.from([0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2])
/** The same, but that all is to be encrypted. */
const encrypted = Buffer.from([...preLogin.subarray(0, -1), 1])

/** A packet that says of no message that it ends. */
function unending(payload: Buffer): Buffer {
  const packet = inPackets(payload, payload.length + 8)
  packet[1] = 0
  return packet
}

/** What stands before a row: one column, NVARCHAR(MAX). Of the whole answer, its end is left out. */
const columns = answerTokens({ columns: [['state', 'text']], rows: [] }, false).subarray(0, -13)
/** A row whose value has no known length, and has begun. */
const row = Buffer.from('d1feffffffffffffff', 'hex')

/** A piece of that value: its length, and so much text. */
function piece(bytes: number): Buffer {
  const whole = Buffer.alloc(4 + bytes)
  whole.writeUInt32LE(bytes)
  return whole
}

describe('a malicious SQL Server', () => {
  const serve = rawServers()
  const config = (port: number): DatabaseConfig => ({
    ...somewhere,
    kind: 'sql-server',
    port,
    password: '',
    trustServerCertificate: true,
  })
  const tried = (port: number, changes: Partial<DatabaseConfig> = {}, limits = databaseLimits) =>
    testDatabaseConnection({ ...config(port), ...changes }, here, never, limits).catch((error: unknown) => error)

  /** Lets anybody in, and answers the first query with `begin`, and then with `more` for as long as somebody reads. */
  async function flood(begin: Buffer, more: Buffer, certificate?: ReturnType<typeof selfSigned>) {
    const sent = { bytes: 0 }
    const pour = (socket: Socket): void => {
      while (!socket.destroyed) {
        sent.bytes += more.length
        if (!socket.write(more)) return void socket.once('drain', () => pour(socket))
      }
    }
    const answer = async (socket: Socket) => {
      for await (const { kind, bytes } of messagesOf(socket)) {
        if (kind === kinds.preLogin) socket.write(inPackets(preLogin))
        else if (kind === kinds.login) socket.write(inPackets(loginToken()))
        else if (/set ansi_nulls/i.test(bytes.toString('utf16le')))
          socket.write(inPackets(answerTokens(undefined, false)))
        else {
          socket.write(unending(begin))
          pour(socket)
        }
      }
    }
    const port = await serve((socket) => {
      if (!certificate) return void answer(socket).catch(() => {})
      socket.once('data', () => {
        socket.write(inPackets(encrypted))
        const secured = tlsInTds(socket, certificate).on('error', () => {})
        void answer(secured).catch(() => {})
      })
    })
    return { port, sent }
  }

  const sendsEndlessValue = (ssl: boolean) => async () => {
    const more = unending(piece(16_000))
    const { port, sent } = await flood(Buffer.concat([columns, row]), more, ssl ? certificate : undefined)
    expect(await tried(port, { ssl })).toMatchObject({
      name: 'SourceProblem',
      code: 'MESSAGE_TOO_LONG',
      message: expect.stringContaining(`SQL Server at source.example, port ${port} sent more than 64 MB`),
    })
    expect(sent.bytes).toBeGreaterThan(60 * mega)
    expect(sent.bytes).toBeLessThan(100 * mega)
  }
  it('is disconnected when a value sent in chunks does not end', sendsEndlessValue(false))
  itUnless(certificate ? undefined : 'openssl is not installed')(
    'is disconnected when a value sent in chunks does not end (TLS)',
    sendsEndlessValue(true),
  )

  it('is disconnected when it sends endless rows or errors during a connection test', async () => {
    const whole = Buffer.concat([row, piece(15_000), Buffer.alloc(4)])
    const rows = await flood(columns, unending(whole))
    expect(await tried(rows.port)).toMatchObject({ code: 'MESSAGE_TOO_LONG' })
    const refusal = answerTokens({ number: 8134, message: 'x'.repeat(7_000) }, false).subarray(0, -13)
    const errors = await flood(columns, unending(refusal))
    expect(await tried(errors.port)).toMatchObject({ code: 'MESSAGE_TOO_LONG' })
  })

  it('is disconnected when it sends endless data before sign-in', async () => {
    let taken = 0
    const port = await serve((socket) => {
      const more = unending(Buffer.alloc(16_000))
      const pour = (): void => {
        while (!socket.destroyed) {
          taken += more.length
          if (!socket.write(more)) return void socket.once('drain', pour)
        }
      }
      socket.once('data', pour)
    })
    expect(await tried(port)).toMatchObject({ name: 'SourceProblem', code: 'OTHER_PROTOCOL' })
    expect(taken).toBeLessThan(32 * mega)
  })

  it('is rejected with OTHER_PROTOCOL when it sends unknown tokens', async () => {
    const { port } = await flood(columns, unending(Buffer.from([0x11, 0x22])))
    expect(await tried(port)).toMatchObject({ name: 'SourceProblem', code: 'OTHER_PROTOCOL' })
  })

  it('is rejected with SOURCE_SILENT when it does not respond after sign-in', async () => {
    await using server = await tdsStandIn({ answer: () => new Promise(() => {}) })
    expect(await tried(server.port, {}, { ...databaseLimits, silence: 300 })).toMatchObject({
      name: 'SourceProblem',
      code: 'SOURCE_SILENT',
    })
  })

  it('may send more than 64 MB in total if each row is shorter', async () => {
    const text = 'x'.repeat(mega / 2)
    await using server = await tdsStandIn({
      answer: ({ text: asked }) => {
        if (asked.includes('snapshot_isolation_state')) return { columns: [['state', 'int']], rows: [[0]] }
        if (asked.includes('dm_exec_describe'))
          return {
            columns: [
              ['name', 'text'],
              ['system_type_name', 'text'],
              ['error_message', 'text'],
            ],
            rows: [['note', 'nvarchar(max)', null]],
          }
        if (!asked.includes('as source')) return undefined
        return { columns: [['', 'text']], rows: Array.from({ length: 70 }, () => [text]) }
      },
    })
    const { report, totals } = listener()
    for await (const { columns: found, content } of createDatabaseSource(here).read(
      config(server.port),
      report,
      never,
    )) {
      if (content.format !== 'copy-binary') continue
      for await (const { release } of content.rows(found)) release?.()
    }
    expect(totals).toMatchObject({ rowsRead: 70 })
  })
})
