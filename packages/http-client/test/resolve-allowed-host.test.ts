import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createLimitedDnsLookup } from '../src/resolve-allowed-host.ts'

/** A DNS server that resolves only `known.example`, and sends no response for names that start with `silent`. */
let dns: Socket
let servers: string[]
let queriedNames: string[] = []

const nameIn = (query: Buffer): { name: string; end: number } => {
  const labels: string[] = []
  let at = 12
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 5 }
}

function answer(query: Buffer, from: RemoteInfo): void {
  const { name, end } = nameIn(query)
  const type = query.readUInt16BE(end - 4)
  queriedNames.push(name)
  if (name.startsWith('silent')) return
  const known = name === 'known.example' && type === 1
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(name === 'known.example' ? 0x8180 : 0x8183, 2)
  header.writeUInt16BE(known ? 1 : 0, 6)
  header.fill(0, 8)
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 93, 184, 216, 34])
  dns.send(Buffer.concat([header, query.subarray(12, end), ...(known ? [record] : [])]), from.port, from.address)
}

beforeAll(async () => {
  dns = createSocket('udp4', answer)
  await new Promise<void>((resolve) => dns.bind(0, '127.0.0.1', resolve))
  servers = [`127.0.0.1:${(dns.address() as AddressInfo).port}`]
})
afterAll(() => void dns.close())
beforeEach(() => {
  queriedNames = []
})

describe('createLimitedDnsLookup', () => {
  it('returns the addresses of a host name', async () => {
    expect(await createLimitedDnsLookup({ servers })('known.example')).toEqual([
      { address: '93.184.216.34', family: 4 },
    ])
  })

  it('rejects with ENOTFOUND if the host name does not exist', async () => {
    await expect(createLimitedDnsLookup({ servers })('no.example')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  it('rejects with EAI_AGAIN if the DNS server does not answer within the time limit', async () => {
    const began = performance.now()
    await expect(createLimitedDnsLookup({ servers, timeLimitMs: 300 })('silent.example')).rejects.toMatchObject({
      code: 'EAI_AGAIN',
    })
    expect(performance.now() - began).toBeLessThan(30_000)
  })

  it('limits concurrent queries and rejects lookups beyond the queue limit', async () => {
    const lookup = createLimitedDnsLookup({ servers, timeLimitMs: 400, maxConcurrent: 2 })
    const all = Promise.allSettled(Array.from({ length: 30 }, (_, at) => lookup(`silent-${at}.example`)))
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(new Set(queriedNames).size).toBe(2)
    const answers = (await all).map((one) => one.status === 'rejected' && String(one.reason.message))
    expect(answers.filter((text) => text && text.startsWith('Too many names'))).toHaveLength(12)
  })

  it('uses the hosts file before the DNS server', async () => {
    expect(await createLimitedDnsLookup({ servers })('LOCALHOST')).toContainEqual({ address: '127.0.0.1', family: 4 })
    expect(queriedNames).toEqual([])
  })
})
