import { createServer, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { createServer as createTrap, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { ssrfSafeFetch, outgoingAllowed, OutgoingProblem, type SsrfSafeFetchOptions } from '../src/index.ts'

const { parse } = outgoingAllowed()
const nothing = parse('')

let server: Server
let port: number
let asked: string[] = []
let trapPort: number
let connections = 0
const trap = createTrap((socket) => {
  connections++
  socket.destroy()
})

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '')
    if (request.url === '/private') return response.writeHead(302, { location: `http://localhost:${trapPort}/` }).end()
    if (request.url === '/again') return response.writeHead(302, { location: '/fine' }).end()
    if (request.url === '/endless') return void setInterval(() => response.write('x'.repeat(10_000)), 1).unref()
    if (request.url === '/silent') return
    if (request.url === '/packed') return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('fine'))
    if (request.url === '/broken') return void response.writeHead(200).write('x', () => response.destroy())
    if (request.url === '/stuck') return void response.write('x')
    return response.end('fine')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
  trapPort = (trap.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  trap.close()
})
beforeEach(() => {
  asked = []
  connections = 0
})

async function problemOf(url: string, options: Partial<SsrfSafeFetchOptions> = {}, init?: RequestInit) {
  const outgoing = ssrfSafeFetch({ allowed: nothing, ...options })
  try {
    const response = await outgoing.fetch(url, init)
    return `answered ${await response.text()}`
  } catch (error) {
    expect(error).toBeInstanceOf(OutgoingProblem)
    return (error as OutgoingProblem).message
  } finally {
    await outgoing.close()
  }
}

const resolveTo = (address: string) => async () => [{ address, family: address.includes(':') ? 6 : 4 }]
const loopback = resolveTo('127.0.0.1')

describe('without an allow-list', () => {
  it.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0.0.0.0',
    'localhost',
    'localhost.',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '[::]',
    '[::1]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::1]',
    '[2002:7f00:1::]',
    '[2001:0:1::1]',
    '[fe80::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[fec0::1]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[3fff::1]',
    '[4000::1]',
  ])('does not connect to %s', async (host) => {
    const lookup = loopback
    expect(await problemOf(`https://${host}:${trapPort}/`, { lookup })).toMatch(/leads to an address that /)
    expect(connections).toBe(0)
  })

  it.each(['93.184.216.34', '2606:2800:220:1::1', '64:ff9b::5db8:d822', '::ffff:93.184.216.34'])(
    'accepts a host name with the public address %s',
    async (address) => {
      const outgoing = ssrfSafeFetch({ allowed: nothing, lookup: resolveTo(address) })
      await expect(outgoing.check('https://public.example.org/')).resolves.toBeUndefined()
    },
  )

  it('refuses a host name if any of its addresses is private', async () => {
    const lookup = async () => [...(await resolveTo('93.184.216.34')()), ...(await loopback())]
    expect(await problemOf(`https://half.example.org:${trapPort}/`, { lookup })).toMatch(/is that of the Sluice server/)
  })

  it('resolves the host name for each connection and refuses a rebound private address', async () => {
    const answers = ['93.184.216.34', '127.0.0.1']
    const lookup = async () => resolveTo(answers.shift()!)()
    const outgoing = ssrfSafeFetch({ allowed: nothing, lookup })
    const url = `https://rebinding.example.org:${trapPort}/`
    await outgoing.check(url)
    await expect(outgoing.fetch(url)).rejects.toThrow(/is that of the Sluice server/)
    expect(connections).toBe(0)
  })

  it.each(['http://public.example.org/', 'ftp://public.example.org/', 'file:///etc/passwd', 'nonsense'])(
    'refuses %s',
    async (url) => {
      expect(await problemOf(url, { lookup: resolveTo('93.184.216.34') })).toMatch(/https/)
    },
  )

  it('refuses a URL with a password', async () => {
    expect(await problemOf('https://a:b@public.example.org/')).toMatch(/must not contain a username or password/)
  })
})

describe('with an allow-list', () => {
  const allowed = () => parse(`idp.internal:${port}, elsewhere.internal, 127.0.0.0/30`)
  const allowedLoopback = (): Partial<SsrfSafeFetchOptions> => ({ allowed: allowed(), lookup: loopback })

  it('fetches from listed hosts and ranges, also over http', async () => {
    expect(await problemOf(`http://IDP.internal.:${port}/a`, allowedLoopback())).toBe('answered fine')
    expect(await problemOf(`http://127.0.0.1:${port}/b`, allowedLoopback())).toBe('answered fine')
    expect(await problemOf(`http://[::ffff:127.0.0.1]:${port}/c`, allowedLoopback())).toBe('answered fine')
    expect(asked).toEqual(['/a', '/b', '/c'])
  })

  it('refuses other ports of a host that is listed with a port', async () => {
    const only = { allowed: parse(`idp.internal:${port}`), lookup: loopback }
    expect(await problemOf(`http://idp.internal:${trapPort}/`, only)).toMatch(/is that of the Sluice server/)
    expect(connections).toBe(0)
  })

  it('refuses other ports of an address that is listed with a port', async () => {
    const only = { allowed: parse(`127.0.0.1:${port}, [0:0::1]:${port}`) }
    expect(await problemOf(`http://127.0.0.1:${port}/fine`, only)).toBe('answered fine')
    expect(await problemOf(`http://[::1]:${port}/fine`, only)).not.toMatch(/is that of the Sluice server/)
    expect(await problemOf(`http://127.0.0.1:${trapPort}/`, only)).toMatch(/is that of the Sluice server/)
    expect(await problemOf(`http://[::1]:${trapPort}/`, only)).toMatch(/is that of the Sluice server/)
    expect(connections).toBe(0)
  })

  it('refuses redirects unless follow is set, and then checks each target', async () => {
    const url = (path: string) => `http://idp.internal:${port}${path}`
    const named = { allowed: parse(`idp.internal:${port}`), lookup: loopback }
    expect(await problemOf(url('/again'), named)).toMatch(/redirects to another address/)
    expect(await problemOf(url('/again'), { ...named, follow: true })).toBe('answered fine')
    expect(await problemOf(url('/private'), { ...named, follow: true })).toMatch(/is that of the Sluice server/)
    expect(connections).toBe(0)
  })

  it('gets a body as it was sent, with the same checks and sentences', async () => {
    const never = new AbortController()
    const outgoing = ssrfSafeFetch({ allowed: nothing, ...allowedLoopback() })
    const get = (path: string, signal = never.signal, at = port) =>
      outgoing.get(new URL(`http://127.0.0.1:${at}${path}`), { range: 'bytes=0-' }, signal)
    const packed = await get('/packed')
    expect(packed.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(await buffer(packed.chunks)).toString()).toBe('fine')
    await expect(get('/again')).rejects.toThrow(/redirects to another address/)
    await expect(get('/fine', never.signal, trapPort)).rejects.toThrow(/closed the connection/)
    await expect(buffer((await get('/broken')).chunks)).rejects.toThrow(OutgoingProblem)
    const stopped = new AbortController()
    const stuck = await get('/stuck', stopped.signal)
    stopped.abort()
    await expect(buffer(stuck.chunks)).rejects.toThrow(OutgoingProblem)
    const endless = await get('/endless')
    endless.cancel()
    await outgoing.close()
    const strict = ssrfSafeFetch({ allowed: nothing, lookup: loopback })
    const refused = strict.get(new URL(`https://example.org:${trapPort}/`), {}, never.signal)
    await expect(refused).rejects.toThrow(/is that of the Sluice server/)
    await strict.close()
  })

  it('enforces the byte limit and the time limit', async () => {
    const url = (path: string) => `http://127.0.0.1:${port}${path}`
    expect(await problemOf(url('/endless'), { ...allowedLoopback(), maxBytes: 50_000 })).toMatch(
      /more than the 50000 bytes/,
    )
    expect(await problemOf(url('/silent'), { ...allowedLoopback(), timeLimitMs: 300 })).toMatch(
      /did not respond completely within 1 s/,
    )
    expect(await problemOf(url('/stuck'), { ...allowedLoopback(), timeLimitMs: 300 })).toMatch(
      /did not respond completely within 1 s/,
    )
  })

  it('reports unknown hosts, TLS errors and broken connections in plain sentences', async () => {
    const nobody = async () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' }))
    expect(await problemOf('https://no.example.org/', { lookup: nobody })).toBe(
      'The host no.example.org does not exist.',
    )
    expect(await problemOf(`https://127.0.0.1:${port}/`, allowedLoopback())).toMatch(/does not use TLS/)
    expect(await problemOf(`http://127.0.0.1:${trapPort}/`, allowedLoopback())).toMatch(/closed the connection/)
  })

  it.each(['10.0.0.0/33', '10.1', 'http://idp', 'a b', '*.internal', '7', '10.1:80', '10.0.0.0/8:80'])(
    'is rejected if it contains %s',
    (entry) => {
      expect(() => parse(entry)).toThrow(/must contain hosts and ranges/)
    },
  )
})
