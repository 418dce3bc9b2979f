import { describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { OracleByteLimit } from '../../oracle/oracle-session.ts'
import { rawServers, somewhere } from './raw-tcp-servers.ts'

const mega = 1024 * 1024

describe('the byte limit for Oracle responses', () => {
  const serve = rawServers()

  it('applies to each response and not to the connection in total', async () => {
    const port = await serve((socket) =>
      socket.on('data', (asked) => socket.write(Buffer.alloc(Number(asked.toString())))),
    )
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    await once(socket, 'connect')
    using byteLimit = new OracleByteLimit({ config: { ...somewhere, kind: 'oracle' }, openedSockets: [socket] })
    byteLimit.isSignedIn = true
    const answer = (bytes: number) =>
      byteLimit.request(async () => {
        socket.write(String(bytes))
        for (let left = bytes; left > 0; ) left -= ((await once(socket, 'data')) as [Buffer])[0].length
      }, mega)
    for (let round = 0; round < 4; round++) await answer(mega / 2)
    const broken = byteLimit.request(async () => {
      socket.write(String(64 * mega))
      socket.resume()
      await once(socket, 'close')
      throw new Error('of the driver')
    }, mega)
    await expect(broken).rejects.toMatchObject({ code: 'MESSAGE_TOO_LONG', message: expect.stringContaining('Oracle') })
  })
})
