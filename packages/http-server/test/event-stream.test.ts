import { afterEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { EventStream, sendEvents, type ServerSentEvent } from '../src/event-stream.ts'

type Events = (signal: AbortSignal) => AsyncIterable<ServerSentEvent>

let server: Server
let stopping = false
const warnings: object[] = []
const logger = { warn: (details: object) => void warnings.push(details) } as never

async function listen(events: Events): Promise<IncomingMessage> {
  const app = express()
  app.get('/', (_request, response) =>
    sendEvents(response, new EventStream(events), { isStopping: () => stopping, logger }),
  )
  server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const request = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}
async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return text
}
afterEach(() => {
  stopping = false
  warnings.length = 0
  server.closeAllConnections()
  server.close()
})

/** Returns an event source that ends when its signal aborts, and a promise that resolves at its end. */
function createEndlessSource() {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  async function* events(signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    try {
      while (!signal.aborted) {
        yield { event: 'tick', data: {} }
        await sleep(10)
      }
    } finally {
      resolve()
    }
  }
  return { events, ended }
}

describe('an event stream', () => {
  it('sends each field on one line, also if the data contains line breaks', async () => {
    const response = await listen(async function* () {
      yield { id: '7', event: 'log', data: { message: 'two\nlines\r\n\nand data: more' } }
      yield { event: 'end', data: null }
    })
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    })
    const lines = String.raw`{"message":"two\nlines\r\n\nand data: more"}`
    expect(await textOf(response)).toBe(
      `retry: 3000\n\nid: 7\nevent: log\ndata: ${lines}\n\nevent: end\ndata: null\n\n`,
    )
  })

  it('ends if the listener disconnects', async () => {
    const { events, ended } = createEndlessSource()
    const response = await listen(events)
    response.destroy()
    await ended
  })

  it('aborts its source and runs its cleanup if the listener disconnected before the start', async () => {
    const started = Promise.withResolvers<boolean>()
    const ended = Promise.withResolvers<void>()
    async function* events(signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
      started.resolve(signal.aborted)
      try {
        while (!signal.aborted) yield { event: 'tick', data: await sleep(10) }
      } finally {
        ended.resolve()
      }
    }
    const requested = Promise.withResolvers<void>()
    const app = express().get('/', async (_request, response) => {
      requested.resolve()
      await once(response, 'close')
      await sendEvents(response, new EventStream(events), { isStopping: () => false, logger })
    })
    server = createServer(app).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const request = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).on('error', () => {})
    await requested.promise
    request.destroy()
    expect(await started.promise).toBe(true)
    await ended.promise
    expect(warnings).toEqual([])
  })

  it('ends when the service stops', async () => {
    const { events, ended } = createEndlessSource()
    const response = await listen(events)
    stopping = true
    response.resume()
    await Promise.all([ended, once(response, 'end')])
  })

  it('applies backpressure if the listener reads slowly', async () => {
    let yielded = 0
    const response = await listen(async function* () {
      for (; yielded < 2_000; yielded++) yield { event: 'big', data: 'x'.repeat(100_000) }
    })
    response.pause()
    await sleep(300)
    expect(yielded).toBeLessThan(1_000)
    expect((await textOf(response)).length).toBeGreaterThan(200_000_000)
  })

  it('ends if its source fails, and reports the error only in the log', async () => {
    const response = await listen(async function* () {
      yield { event: 'one', data: 1 }
      throw new Error('the database is away')
    })
    expect(await textOf(response)).not.toContain('away')
    expect(warnings).toMatchObject([{ err: { message: 'the database is away' } }])
  })
})
