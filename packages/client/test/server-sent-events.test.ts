import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { EventSource } from 'undici'
import { dataPipelines } from '../src/generated/pipeline.ts'
import { parseEvents, readTexts } from '../src/server-sent-events.ts'
import { events, followRun, serviceClient, type ServerSentEvent } from '../src/index.ts'
import { type Behaviour, hang, problem, reset, scriptedServer } from './scripted-server.ts'

const uid = '0198c1a0-0000-7000-8000-000000000001'
const follow = (
  url: string,
  options: { signal?: AbortSignal; restoreForMs?: number; silenceLimitMs?: number; lastEventId?: string } = {},
) =>
  events(serviceClient({ baseUrl: url, token: 'a-token', timeout: 300 }), dataPipelines.followLogs, {
    params: { uid },
    ...options,
  })

/** Sends these pieces, each in a packet of its own, and then ends the stream or leaves it open. */
const stream =
  (pieces: (string | Uint8Array)[], after: 'end' | 'open' | 'break' = 'end'): Behaviour =>
  async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) {
      await new Promise((resolve) => response.write(piece, resolve))
      if (pieces.length < 100) await sleep(1)
    }
    if (after === 'end') response.end()
    if (after === 'break') response.destroy()
  }

async function take<T>(stream: AsyncIterable<T>, count: number): Promise<T[]> {
  const taken: T[] = []
  for await (const one of stream) if (taken.push(one) === count) break
  return taken
}

it('requests the stream with its media type and token, and yields its events', async () => {
  const text = 'retry: 5\n\nid: 7\nevent: log\ndata: {"message":"a"}\n\n:\n\nevent: run\ndata: {"status":"OK"}\n\n'
  await using server = await scriptedServer(stream([text], 'open'))
  expect(await take(follow(server.url), 2)).toEqual([
    { id: '7', event: 'log', data: { message: 'a' } },
    { id: '7', event: 'run', data: { status: 'OK' } },
  ])
  expect(server.asked[0]?.headers).toMatchObject({
    accept: 'text/event-stream, application/problem+json',
    authorization: 'Bearer a-token',
  })
  expect(server.asked[0]?.headers).not.toHaveProperty('last-event-id')
})

it('continues after the last event when the connection ends, breaks, is refused or does not answer', async () => {
  await using server = await scriptedServer(
    stream(['retry: 1\n\nid: 1\ndata: 1\n\n']),
    stream(['id: 2\ndata: 2\n\nid: 3\ndata: '], 'break'),
    reset,
    problem(503, 'busy'),
    hang,
    stream(['id: 3\ndata: 3\n\n'], 'open'),
  )
  const found = await take(follow(server.url), 3)
  expect(found.map(({ data }) => data)).toEqual([1, 2, 3])
  // A request that the server resets or refuses as busy is a read, and is repeated once.
  expect(server.asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1', '2', '2', '2', '2'])
})

it('restores a connection that is open and silent', async () => {
  const [first, second] = [stream(['retry: 1\n\nid: 1\ndata: 1\n\n'], 'open'), stream(['data: 2\n\n'], 'open')]
  await using server = await scriptedServer(first, second)
  const found = await take(follow(server.url, { silenceLimitMs: 100 }), 2)
  expect(found.map(({ id, data }) => [id, data])).toEqual([
    ['1', 1],
    ['1', 2],
  ])
  expect(server.asked[1]?.headers['last-event-id']).toBe('1')
})

it('starts after a given event', async () => {
  await using server = await scriptedServer(stream(['data: 1\n\n'], 'open'))
  await take(follow(server.url, { lastEventId: '41' }), 1)
  expect(server.asked[0]?.headers['last-event-id']).toBe('41')
})

it('throws the last error when the connection cannot be restored in time', async () => {
  await using server = await scriptedServer(stream(['retry: 1\n\ndata: 1\n\n']), problem(503, 'busy'))
  const found: unknown[] = []
  const all = async () => {
    for await (const { data } of follow(server.url, { restoreForMs: 500 })) found.push(data)
  }
  await expect(all()).rejects.toMatchObject({ name: 'ServiceUnavailable', reason: 'overloaded' })
  expect(found).toEqual([1])
})

it('throws when the service refuses the stream, and when an event is not JSON', async () => {
  await using server = await scriptedServer(problem(404, 'not-found'))
  await expect(take(follow(server.url), 1)).rejects.toMatchObject({ name: 'RemoteProblem', status: 404 })
  server.now(stream(['data: {half\n\n'], 'open'))
  await expect(take(follow(server.url), 1)).rejects.toMatchObject({ reason: 'malformed-answer' })
  expect(server.asked).toHaveLength(2)
})

it('ends without an error when the service answers 204', async () => {
  await using server = await scriptedServer((response) => response.writeHead(204).end())
  expect(await take(follow(server.url), 1)).toEqual([])
  expect(server.asked).toHaveLength(1)
})

it('closes the connection when the loop is left or the signal aborts, also between two connections', async () => {
  let closed = 0
  const open = stream(['retry: 60000\n\ndata: 1\n\n'], 'open')
  const watched: Behaviour = (response, request) => {
    response.on('close', () => closed++)
    open(response, request)
  }
  await using server = await scriptedServer(watched)
  await take(follow(server.url), 1)
  await until(() => closed === 1)

  const reason = new Error('the page was closed')
  const caller = new AbortController()
  const all = async () => {
    for await (const _event of follow(server.url, { signal: caller.signal })) caller.abort(reason)
  }
  await expect(all()).rejects.toBe(reason)
  await until(() => closed === 2)

  server.now(stream(['retry: 60000\n\ndata: 1\n\n']))
  const later = new AbortController()
  const waiting = (async () => {
    for await (const _event of follow(server.url, { signal: later.signal })) setTimeout(() => later.abort(reason), 100)
  })()
  await expect(waiting).rejects.toBe(reason)
})

it('followRun yields log lines and progress, and ends with the finished run', async () => {
  const running = 'event: run\ndata: {"taskId":"t","status":"RUNNING"}\n\n'
  const finished = 'event: run\ndata: {"taskId":"t","status":"OK","finished":"2026-01-01T00:00:00.000Z"}\n\n'
  const line = 'id: 1\nevent: log\ndata: {"message":"Loaded 2 rows"}\n\n'
  await using server = await scriptedServer(stream([`retry: 1\n\n${running}`]), stream([line + finished], 'open'))
  const client = serviceClient({ baseUrl: server.url })
  const found = await Array.fromAsync(followRun(client, { uid, taskId: 't' }))
  expect(found.map(({ event }) => event)).toEqual(['run', 'log', 'run'])
  expect(found.at(-1)?.data).toMatchObject({ status: 'OK' })
  expect(server.asked[0]?.url).toBe(`/api/v1/data-pipelines/${uid}/logs/stream?taskId=t`)
})

/**
 * Lines of streams, valid and odd, in every style of line breaks, and with characters of several bytes. None is an empty
 * name of an event, which undici ignores against the standard.
 */
const names = ['message', 'log', 'run']
const value = fc.string({ unit: fc.constantFrom('a', ' ', ':', '1', 'é', '保', '🦆', '\t'), maxLength: 8 })
const field = fc.oneof(
  { weight: 4, arbitrary: value.map((text) => `data:${JSON.stringify(text)}`) },
  { weight: 2, arbitrary: value.map((text) => `data: ${JSON.stringify(text)}`) },
  { weight: 2, arbitrary: fc.constantFrom(...names).map((name) => `event: ${name}`) },
  { weight: 2, arbitrary: fc.nat(99).map((id) => `id: ${id}`) },
  { weight: 1, arbitrary: value.map((text) => `:${text}`) },
  { weight: 1, arbitrary: fc.constantFrom('id', 'unknown: x', 'retry: x', 'id: a\0b') },
  { weight: 4, arbitrary: fc.constant('') },
)
const lines = fc.array(fc.tuple(field, fc.constantFrom('\n', '\r\n', '\r')), { minLength: 1, maxLength: 20 })
const cuts = fc.array(fc.nat(300), { maxLength: 6 })

/** The last event of every stream; both readers stop at it. */
const lastEvent = '\n\nevent: message\ndata: "the end"\n\n'

it('reads any stream, cut into packets anywhere, as the EventSource of undici does', async () => {
  await using server = await scriptedServer(hang)
  await fc.assert(
    fc.asyncProperty(lines, cuts, fc.boolean(), fc.boolean(), async (given, at, mark, cutReturns) => {
      const text = (mark ? '\uFEFF' : '') + given.map(([line, end]) => line + end).join('') + lastEvent
      const bytes = new TextEncoder().encode(text)
      const afterReturns = [...bytes.keys()].filter((index) => cutReturns && bytes[index - 1] === 13)
      const inside = [...at, ...afterReturns].filter((cut) => cut < bytes.length)
      const edges = [...new Set([0, ...inside, bytes.length])].toSorted((a, b) => a - b)
      const pieces = edges.slice(1).map((end, index) => bytes.subarray(edges[index], end))
      server.now(stream(pieces, 'open'))
      expect(await readHere(server.url)).toEqual(await readWithUndici(server.url))
    }),
    { numRuns: drawCount({ short: 60, long: 1_000 }) },
  )
})

const isLast = ({ data }: ServerSentEvent<string>) => data === '"the end"'

async function readHere(url: string): Promise<object[]> {
  const texts = readTexts(await fetch(url), 10_000)
  const found: object[] = []
  for await (const event of parseEvents(texts, { lastEventId: '', reconnectDelayMs: 0 })) {
    found.push(event)
    if (isLast(event)) break
  }
  return found
}

function readWithUndici(url: string): Promise<object[]> {
  const source = new EventSource(`${url}/anything`)
  const found: object[] = []
  return new Promise((resolve) => {
    for (const name of names)
      source.addEventListener(name, (given) => {
        const {
          lastEventId: id,
          type: event,
          data,
        } = given as unknown as { lastEventId: string; type: string; data: string }
        found.push({ id, event, data })
        if (!isLast({ id, event, data })) return
        source.close()
        resolve(found)
      })
  })
}
