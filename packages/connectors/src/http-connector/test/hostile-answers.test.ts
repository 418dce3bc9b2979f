import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ssrfSafeFetch, outgoingAllowed } from '@sluice/http-client'
import { requestFittingPage } from '../paging.ts'
import { openHttpSession } from '../http-session.ts'
import { createBulkExport, readResourceLines } from '../../fhir/bulk-export.ts'
import { fhir } from '../../fhir/fhir.ts'
import { functionSystem, parseRows } from '../../function/function-call.ts'
import { readJsonRecords } from '../../bhima/json-records.ts'

const directory = mkdtempSync(join(tmpdir(), 'sluice-hostile-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** The server's answer to every request. */
let messages: { status?: number; type?: string; gzip?: Buffer; body?: string; location?: string }[] = []
let server: Server
beforeAll(async () => {
  server = createServer((_request, response) => {
    const {
      status = 200,
      type = 'application/json',
      gzip,
      body = '',
      location,
    } = messages.length > 1 ? messages.shift()! : messages[0]!
    response.writeHead(status, {
      'content-type': type,
      ...(gzip && { 'content-encoding': 'gzip' }),
      ...(location !== undefined && { 'content-location': location }),
    })
    response.end(gzip ?? body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Counts the bytes that are taken of bodies, unpacked. */
function openSession(maxValues?: number) {
  const taken = { bytes: 0, cancelled: 0 }
  const guarded = ssrfSafeFetch({ allowed: outgoingAllowed().parse('127.0.0.1'), maxBytes: 200_000_000 })
  const fetch = async (url: string | URL, init?: RequestInit) => {
    const { body, status, headers } = await guarded.fetch(url, init)
    const reader = body!.getReader()
    const counted = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await reader.read()
          if (done) return controller.close()
          taken.bytes += value.byteLength
          controller.enqueue(value)
        },
        cancel(reason) {
          taken.cancelled += 1
          return reader.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(counted, { status, headers })
  }
  const http = openHttpSession(
    { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    {
      fetch: { fetch },
      downloads: { fetch },
      system: 'Example',
      secrets: [],
      retryPolicy: { attempts: 1, firstDelay: 0.01, maxDelay: 0.02 },
      ...(maxValues !== undefined && { maxValues }),
      directory,
      signal: new AbortController().signal,
      onBytes: () => {},
      onRetry: () => {},
      onAlive: () => {},
    },
  )
  return { http, taken }
}

describe('an error response', () => {
  const bomb = gzipSync(Buffer.alloc(100_000_000, 'No. '))

  it.each([
    ['an error', 'getJson', { status: 500, type: 'text/plain' }, 'SOURCE_FAILED'],
    ['an error', 'download', { status: 403, type: 'text/plain' }, 'PERMISSION_DENIED'],
    ['a page', 'getJson', { type: 'text/html' }, 'OTHER_PROTOCOL'],
    ['a page', 'download', { type: 'text/html' }, 'OTHER_PROTOCOL'],
  ] as const)('is read only at its start: %s of 100 MB requested with %s', async (_what, by, answer, code) => {
    messages = [{ ...answer, gzip: bomb }]
    const { http, taken } = openSession()
    await expect(http[by]('x')).rejects.toMatchObject({ name: 'SourceProblem', code })
    expect(taken.bytes).toBeLessThan(300_000)
    expect(taken.cancelled).toBe(1)
  })

  it('is quoted in the message', async () => {
    messages = [{ status: 403, body: '{"detail":"Nobody may."}' }]
    await expect(openSession().http.getJson('x')).rejects.toThrow('It says: Nobody may.')
  })
})

const list = (count: number, one = '{}') => `[${Array.from({ length: count }, () => one).join()}]`
const tooMany = {
  name: 'SourceProblem',
  code: 'ANSWER_TOO_LARGE',
  message: expect.stringMatching(/\d,\d{3} values/),
}

describe('a response with too many values', () => {
  it('is rejected before it is parsed', async () => {
    // The object does not end, so that a parser would report invalid JSON instead.
    messages = [{ body: `{"a":${list(5_000_000)}` }]
    await expect(openSession().http.getJson('x')).rejects.toMatchObject({
      ...tooMany,
      message:
        'The response has about 10,000,002 values, more than the limit of 2,000,000. Request fewer records at a time, or select fewer of their fields.',
    })
  })

  it('has a lower limit if a user waits, and if digits are kept', async () => {
    messages = [{ body: list(1_500, '1') }]
    await expect(openSession(1_000).http.getJson('x')).rejects.toMatchObject(tooMany)
    expect(await openSession(2_000).http.getJson('x')).toHaveLength(1_500)
    messages = [{ body: list(1_500, '1.23456789012345678') }]
    await expect(openSession(2_000).http.getJson('x')).rejects.toMatchObject(tooMany)
  })

  it('reduces the page size', async () => {
    messages = [{ body: list(2_000) }, { body: list(500) }]
    const { http } = openSession(2_000)
    const { pageSize } = await requestFittingPage(100, () => http.getJson('x'))
    expect(pageSize).toBe(25)
  })

  it('is not detected by characters inside of texts', async () => {
    messages = [{ body: JSON.stringify([`"${'[{,'.repeat(5_000)}\\`, 'ä"\\\\', { a: [] }]) }]
    expect(await openSession(20).http.getJson('x')).toHaveLength(3)
  })

  it('is rejected if it is nested too deeply', async () => {
    messages = [{ body: '['.repeat(2_000) + ']'.repeat(2_000) }]
    await expect(openSession().http.getJson('x')).rejects.toMatchObject({
      code: 'OTHER_PROTOCOL',
      message: expect.stringContaining('nested 2,000 levels deep'),
    })
  })

  it('is rejected as one record, as one line, and inside of a gateway response', async () => {
    async function* chunks(text: string) {
      yield Buffer.from(text)
    }
    const large = `{"a":${list(600_000)}}`
    const records = readJsonRecords(chunks(`[{"a":1},${large}]`), 'Example')
    await expect(records.next()).rejects.toMatchObject(tooMany)
    await expect(readResourceLines(chunks(large), 'Patient').next()).rejects.toMatchObject(tooMany)
    const body = list(1_500_000)
    expect(() => parseRows({ statusCode: 200, body }, String, () => {})).toThrow(expect.objectContaining(tooMany))
  })
})

describe('a number with millions of digits', () => {
  it('keeps its digits', async () => {
    const digits = '12'.repeat(8_000_000)
    messages = [{ body: `[${digits}]` }]
    const [number] = (await openSession().http.getJson('x')) as unknown[]
    expect(JSON.stringify(number) === digits).toBe(true)
  })
})

describe('the address of an export file', () => {
  it.each(['http://', 'http://[', 'file:///etc/passwd', 'data:text/plain,x'])(
    'is rejected if it is %s',
    async (url) => {
      const manifest = { transactionTime: '2026-03-01T10:00:00Z', output: [{ type: 'Patient', url }] }
      messages = [{ status: 202, location: '/status' }, { body: JSON.stringify(manifest) }]
      const { http } = openSession()
      const { signal } = new AbortController()
      const pages = createBulkExport(
        { http, signal, log: () => {} },
        { prefix: 'fhir', types: ['Patient'], streamCount: 1 },
      )('Patient')
      await expect(pages.next()).rejects.toMatchObject({
        name: 'SourceProblem',
        code: 'OTHER_PROTOCOL',
        message: expect.stringContaining(`contains the invalid file address "${url}"`),
      })
    },
  )
})

describe('an invalid address', () => {
  const invalid = { name: 'SourceProblem', code: 'ADDRESS_INVALID' }

  it('is reported for FHIR', () =>
    expect(() => fhir.connect({ apiSource: { url: 'nowhere' } } as never, {})).toThrow(
      expect.objectContaining(invalid),
    ))

  it('is reported for a function without a name', async () => {
    const { http } = openSession()
    const settings = { type: 'FUNCTION', functionSource: {} }
    const read = functionSystem.openStreams({ http, settings, secrets: {}, log: () => {} } as never)
    await expect(read).rejects.toMatchObject(invalid)
  })
})
