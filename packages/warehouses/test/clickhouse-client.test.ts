import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { type ServerAccess, sendStatement, executeStatement, rowsOf } from '../src/clickhouse/protocol/http-client.ts'
import { warehouseProblem } from '../src/clickhouse/map-server-errors.ts'
import { takeRows } from '../src/clickhouse/protocol/query-result.ts'
import { until } from '@sluice/testing/wait-until'
import { clickhouseMissing, clickhouseServer, type ClickHouseServer } from './clickhouse-under-test.ts'

const megabyte = new Uint8Array(1024 * 1024)

/** An endless stream of numbers as RowBinary, a megabyte at a time; `seen` counts the chunks and records the end. */
async function* endless(seen: { sent: number; ended: boolean }): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      seen.sent += 1
      yield megabyte
      await pause(0)
    }
  } finally {
    seen.ended = true
  }
}

describe('a statement to ClickHouse', () => {
  if (clickhouseMissing !== undefined) {
    it.skip(clickhouseMissing, () => {})
    return
  }
  let server: ClickHouseServer
  let service: ServerAccess
  beforeAll(async () => {
    server = await clickhouseServer()
    service = server.client().service
    await executeStatement(service, 'create database client')
    await executeStatement(service, 'create table client.numbers (n Int64) engine = MergeTree order by n')
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })

  const insert = 'insert into client.numbers format RowBinary'
  const count = async () => (await rowsOf<{ rows: number }>(service, 'select count() as rows from client.numbers'))[0]
  const running = async () =>
    (
      await rowsOf(
        service,
        `select 1 from system.processes where query like '%client.numbers%' and query not like '%processes%'`,
      )
    ).length

  it('passes parameters unchanged', async () => {
    const odd = `it's \\ a "quoted" \t\r\n té𝄞xt`
    const [row] = await rowsOf<Record<string, unknown>>(
      service,
      'select {odd:String} as odd, {none:Nullable(String)} as none, {list:Array(String)} as list, {n:Int64} as n',
      { parameters: { odd, none: null, list: [odd, ''], n: '7' } },
    )
    expect(row).toEqual({ odd, none: null, list: [odd, ''], n: 7 })
  })

  it('streams rows, and resolves after they are stored', async () => {
    const body = (async function* () {
      for (let at = 0; at < 20; at += 1) yield megabyte
    })()
    await executeStatement(service, insert, { body })
    expect(await count()).toEqual({ rows: (20 * 1024 * 1024) / 8 })
    await executeStatement(service, 'truncate table client.numbers')
  })

  it('stores no rows if the source fails, and rejects with the error of the source', async () => {
    const failure = new Error('the source broke')
    const body = (async function* () {
      yield megabyte
      throw failure
    })()
    await expect(executeStatement(service, insert, { body })).rejects.toBe(failure)
    await until(async () => (await running()) === 0)
    expect(await count()).toEqual({ rows: 0 })
  })

  it('rejects with the error of the server while rows are still being sent', async () => {
    for (let round = 0; round < 6; round += 1) {
      const body = (async function* () {
        for (let at = 0; at < 8; at += 1) yield megabyte
      })()
      const refused = executeStatement(service, 'insert into client.nowhere format RowBinary', { body })
      await expect(refused).rejects.toMatchObject({ name: 'ClickHouseError', code: 60 })
    }
    const stranger = executeStatement({ ...service, password: 'wrong' }, 'select 1')
    await expect(stranger).rejects.toMatchObject({ code: 516 })
  })

  it('ends when its signal aborts before sending, while sending rows, or while receiving rows', async () => {
    const reason = new Error('enough')
    await expect(executeStatement(service, 'select 1', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const [seen, stop] = [{ sent: 0, ended: false }, new AbortController()]
    const going = executeStatement(service, insert, { body: endless(seen), signal: stop.signal })
    await Promise.all([expect(going).rejects.toBe(reason), until(() => seen.sent > 5).then(() => stop.abort(reason))])
    await until(async () => seen.ended && (await running()) === 0)
    const other = new AbortController()
    const settings = { cancel_http_readonly_queries_on_client_close: 1, readonly: 2 }
    const stream = await sendStatement(service, `select number, 'client.numbers' as what from numbers(1e12)`, {
      signal: other.signal,
      settings,
    })
    await once(stream, 'readable')
    other.abort(reason)
    await expect(text(stream)).rejects.toMatchObject({ name: 'AbortError' })
    await until(async () => (await running()) === 0)
  })

  it('rejects with an error that the server reports after the first rows', async () => {
    const settings = { max_block_size: 1_000, http_write_exception_in_output_format: 0 }
    const format = 'format JSONCompactEachRowWithNamesAndTypes'
    const stream = await sendStatement(
      service,
      `select throwIf(number = 100000, 'too much') as n from numbers(1e7) ${format}`,
      {
        settings,
      },
    )
    const taken = takeRows(stream, { rows: 1e8, bytes: 1e9 })
    await expect(taken).rejects.toMatchObject({ name: 'ClickHouseError', code: 395 })
    await expect(taken).rejects.toThrow(/^too much[^\r\n]*FUNCTION_THROW_IF_VALUE_IS_NON_ZERO\)$/)
  })

  it('is mapped to a retryable WAREHOUSE_UNAVAILABLE if the server is unreachable', async () => {
    const away = await executeStatement({ ...service, url: 'http://127.0.0.1:9' }, 'select 1').catch(
      (error: unknown) => error,
    )
    expect(warehouseProblem(away, 'it')).toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE', retryable: true })
  })
})

describe('a request to ClickHouse, against a stand-in', () => {
  let stand: Server | undefined
  afterEach(() => {
    stand?.closeAllConnections()
    stand?.close()
  })
  async function standIn(
    serve: (request: IncomingMessage, response: ServerResponse) => unknown,
  ): Promise<ServerAccess> {
    stand = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1')
    await once(stand, 'listening')
    const { port } = stand.address() as AddressInfo
    return { url: `http://127.0.0.1:${port}/warehouse/`, user: 'some', password: 'one' }
  }

  it('keeps the path of the URL, and uses a separate connection for each statement', async () => {
    const asked: (string | undefined)[][] = []
    const access = await standIn((request, response) => {
      asked.push([request.url?.split('?')[0], request.headers.connection, request.headers.authorization])
      request.resume().once('end', () => response.end())
    })
    await executeStatement(access, 'select 1', { database: 'there' })
    const basic = `Basic ${Buffer.from('some:one').toString('base64')}`
    expect(asked).toEqual([['/warehouse/', 'close', basic]])
  })

  it('is not sent again if the response is lost', async () => {
    let heard = 0
    const access = await standIn((request) => {
      heard += 1
      request.resume().once('end', () => request.socket.destroy())
    })
    const body = (async function* () {
      yield megabyte
    })()
    const lost = await executeStatement(access, 'insert into somewhere format RowBinary', { body }).catch(
      (error: unknown) => error,
    )
    expect(warehouseProblem(lost, 'it')).toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE' })
    await pause(200)
    expect(heard).toBe(1)
  })

  it('closes the connection when an error response does not end', async () => {
    const gone = Promise.withResolvers<void>()
    const access = await standIn((request, response) => {
      response.once('close', gone.resolve)
      request.resume()
      const more = () => {
        while (!response.destroyed && response.write('Code: 1. DB::Exception: no end\n'.repeat(1_000)));
      }
      response.on('drain', more)
      more()
    })
    const taken = takeRows(await sendStatement(access, 'select 1'), { rows: 10, bytes: 1e6 })
    await expect(taken).rejects.toMatchObject({ name: 'ClickHouseError', code: 1 })
    await gone.promise
  })

  it('buffers less than 16 MB for a server that reads rows slowly', async () => {
    const access = await standIn(async (request, response) => {
      let taken = 0
      for await (const chunk of request) {
        taken += (chunk as Buffer).length
        await pause(2)
        // What is under way is in the buffers of two sockets.
        expect(seen.sent * megabyte.length - taken).toBeLessThan(16 * megabyte.length)
        if (taken > 20 * megabyte.length) break
      }
      response.writeHead(500, { 'x-clickhouse-exception-code': '241' }).end('Code: 241. DB::Exception: enough')
    })
    const seen = { sent: 0, ended: false }
    await expect(executeStatement(access, 'insert …', { body: endless(seen) })).rejects.toMatchObject({
      code: 241,
      message: 'enough',
    })
    await until(() => seen.ended)
  })
})
