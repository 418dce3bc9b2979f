import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { decodeBody, findBodyEncoding } from './decode-content-encoding.ts'

const text = 'day,cases\n2026-01-31,12\n'.repeat(20_000)
const loose = { receivedBytes: 1e9, ratio: 1e9, ratioFrom: 1e9 }
const compress = { gzip: (data: string) => gzipSync(data), zstd: (data: string) => zstdCompressSync(data) }

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function decode(bytes: Buffer, encoding: 'gzip' | 'zstd', { size = 1000, ...limits } = {}): Promise<string> {
  const pieces: Buffer[] = []
  const given = { ...loose, ...limits }
  for await (const piece of decodeBody(inChunks(bytes, size), encoding, given)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

describe.each(['gzip', 'zstd'] as const)('%s', (encoding) => {
  const packed = compress[encoding](text)

  it.each([1, 7, 1000, 1e6])('is decoded from chunks of %d bytes', async (size) => {
    expect(await decode(packed, encoding, { size })).toBe(text)
  })

  it.each([1, 5, 1000, 1e6])('with several members or frames is decoded whole, in chunks of %d bytes', async (size) => {
    const parts = ['a\n1\n', text, '2\n'].map(compress[encoding])
    expect(await decode(Buffer.concat(parts), encoding, { size })).toBe(`a\n1\n${text}2\n`)
  })

  it('is refused if it is truncated at any point, empty, followed by other bytes, or not compressed', async () => {
    for (const end of [1, 5, 12, packed.length - 1])
      await expect(decode(packed.subarray(0, end), encoding)).rejects.toMatchObject({
        status: 400,
        message: `The ${encoding} body ends too early. Send the whole file again. Nothing was stored; any earlier file stays.`,
      })
    await expect(decode(Buffer.alloc(0), encoding)).rejects.toMatchObject({ status: 400 })
    const damaged = { status: 400, message: expect.stringMatching(/^The body is damaged or not in the format/) }
    for (const size of [7, 1e6])
      await expect(
        decode(Buffer.concat([packed, Buffer.from('more,rows\n')]), encoding, { size }),
      ).rejects.toMatchObject(damaged)
    await expect(decode(Buffer.from(text), encoding)).rejects.toMatchObject(damaged)
  })

  it('is cut off soon after it expands too far', async () => {
    const bomb = compress[encoding]('a'.repeat(50_000_000))
    let decoded = 0
    const reading = async () => {
      for await (const piece of decodeBody(inChunks(bomb, 1000), encoding, { ...loose, ratio: 200, ratioFrom: 1e6 }))
        decoded += piece.length
    }
    await expect(reading()).rejects.toMatchObject({
      status: 413,
      message: expect.stringMatching(
        /expands to more than 200 times its size\. Send the file without Content-Encoding/,
      ),
    })
    expect(decoded).toBeLessThan(1_500_000)
  })
})

it('refuses an endless body of empty members, which expands to nothing', async () => {
  const empty = gzipSync('')
  async function* endless(): AsyncGenerator<Buffer> {
    for (;;) yield empty
  }
  const reading = async () => {
    for await (const _piece of decodeBody(endless(), 'gzip', { ...loose, receivedBytes: 10_000 }));
  }
  await expect(reading()).rejects.toMatchObject({ status: 413 })
})

it('refuses a body of more than 10,000 zstd frames, also of empty ones', async () => {
  const empty = zstdCompressSync('')
  let sent = 0
  async function* endless(): AsyncGenerator<Buffer> {
    for (; sent < 20_000; sent += 1_000) yield Buffer.concat(Array.from({ length: 1_000 }, () => empty))
  }
  const reading = async () => {
    for await (const _piece of decodeBody(endless(), 'zstd', loose));
  }
  await expect(reading()).rejects.toMatchObject({
    status: 413,
    message: expect.stringMatching(/more than 10000 frames\. Compress the file as one frame/),
  })
  expect(sent).toBe(10_000)
})

it('passes an error of the connection on', async () => {
  const lost = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
  async function* broken(): AsyncGenerator<Buffer> {
    yield gzipSync(text).subarray(0, 100)
    throw lost
  }
  const reading = async () => {
    for await (const _piece of decodeBody(broken(), 'gzip', loose));
  }
  await expect(reading()).rejects.toBe(lost)
})

it('refuses zstd that needs more than 8 MB of memory, and says how to compress it', async () => {
  const packed = zstdCompressSync(Buffer.alloc(20_000_000), { params: { [constants.ZSTD_c_windowLog]: 24 } })
  await expect(decode(packed, 'zstd')).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(/more than 8 MB of memory to decode\. Compress it with level 19 or lower/),
  })
})

describe('findBodyEncoding', () => {
  it.each([
    [undefined, undefined],
    ['identity', undefined],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['zstd', 'zstd'],
  ])('reads %s as %s', (given, encoding) => {
    expect(findBodyEncoding({ ...(given !== undefined && { 'content-encoding': given }) })).toBe(encoding)
  })

  it.each(['br', 'deflate', 'gzip, zstd', 'gzip, gzip', 'constructor', '__proto__'])('refuses %s', (given) => {
    expect(() => findBodyEncoding({ 'content-encoding': given })).toThrow(
      'Send it with "Content-Encoding: gzip", with "Content-Encoding: zstd", or as plain bytes without this header.',
    )
  })
})
