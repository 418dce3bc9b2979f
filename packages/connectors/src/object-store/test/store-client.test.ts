import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { outgoingAllowed } from '@sluice/http-client'
import { describe, expect, it } from '@jest/globals'
import { createStoreClient } from '../store-client.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Requests a path of a server that answers with `answer`, and returns the text of the response. */
async function readText(answer: Answer, idleTimeoutMs = 5_000): Promise<string> {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    await using client = createStoreClient(outgoingAllowed().parse('127.0.0.1'), idleTimeoutMs)
    const response = await client(new URL(`http://127.0.0.1:${port}/object`), {}, new AbortController().signal)
    return await response.text()
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('the client for object stores', () => {
  it('accepts gzip, because some stores otherwise decompress objects and ignore byte ranges', async () => {
    const text = await readText(({ headers }, response) => {
      if (!/\bgzip\b/.test(headers['accept-encoding'] ?? '')) return response.end('decompressed by the store')
      return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('as it is stored'))
    })
    expect(text).toBe('as it is stored')
  })

  it.each<[string, Answer]>([
    ['never responds', () => {}],
    ['pauses within a response', (_request, response) => void response.writeHead(200).write('a')],
  ])('stops waiting for a server that %s', async (_what, answer) => {
    await expect(readText(answer, 300)).rejects.toMatchObject({
      error: { code: 'CONNECTION_TIMEOUT', message: expect.stringContaining('sent nothing for 1 seconds') },
    })
  })

  it.each([
    [5, 'packed'],
    [6, undefined],
  ])('reads a response that is compressed at most 5 times, here %d times', async (times, expected) => {
    const reading = readText((_request, response) => {
      let body: Uint8Array = Buffer.from('packed')
      for (let time = 0; time < times; time += 1) body = gzipSync(body)
      response.writeHead(200, { 'content-encoding': Array(times).fill('gzip').join(', ') }).end(body)
    })
    if (expected !== undefined) return expect(await reading).toBe(expected)
    return expect(reading).rejects.toMatchObject({
      code: 'OTHER_PROTOCOL',
      message: expect.stringContaining('more than 5 layers of compression'),
    })
  })
})
