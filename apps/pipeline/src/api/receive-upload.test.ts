import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { runInUploadSlot } from './receive-upload.ts'

const silenceMs = 100

/** A server that reads a body in an upload slot, and then works for longer than it waits for silent clients. */
async function startServer(timeouts: unknown[]) {
  const receive = async (body: IncomingMessage) => {
    for await (const _chunk of body) timeouts.push(body.socket.timeout)
    await sleep(5 * silenceMs)
  }
  const server = createServer((body, response) => {
    runInUploadSlot({ client: 'one' }, body, () => receive(body)).then(
      () => {
        timeouts.push(body.socket.timeout)
        response.end('done')
      },
      () => {},
    )
  })
  server.timeout = silenceMs
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const upload = () => request({ port, host: '127.0.0.1', method: 'PATCH', headers: { 'content-length': '8' } })
  return { upload, [Symbol.asyncDispose]: async () => void server.close() }
}

it('keeps the connection while a complete upload is finished, and closes it if a body stalls', async () => {
  const timeouts: unknown[] = []
  await using server = await startServer(timeouts)
  const complete = server.upload()
  complete.end('a,b\n1,2\n')
  const [response] = (await once(complete, 'response')) as [IncomingMessage]
  expect([response.statusCode, timeouts]).toEqual([200, [silenceMs, silenceMs]])
  response.resume()

  const stalled = server.upload()
  stalled.write('a,b\n')
  await expect(once(stalled, 'response')).rejects.toMatchObject({ code: 'ECONNRESET' })
})
