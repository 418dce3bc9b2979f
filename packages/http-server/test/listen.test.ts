import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { pino } from 'pino'
import { bodyDeadline } from '../src/read-json-body.ts'
import {
  createErrorHandler,
  createHealthRoutes,
  listen,
  problems,
  type ListeningServer,
  type HealthCheck,
} from '../src/index.ts'

let listening: ListeningServer | undefined
afterEach(async () => {
  listening?.server.closeAllConnections()
  await listening?.close().catch(() => {})
})

async function served(app: express.Express): Promise<string> {
  listening = await listen(app, { port: 0, host: '127.0.0.1' })
  return `http://127.0.0.1:${(listening.server.address() as AddressInfo).port}`
}

describe('a server that is stopping', () => {
  it('finishes running requests, refuses new ones, and closes keep-alive connections', async () => {
    const app = express()
    const arrived: number[] = []
    app.get('/slow', async (_request, response) => {
      arrived.push(1)
      await sleep(300)
      response.send('done')
    })
    app.get('/quick', (_request, response) => void response.send('done'))
    const url = await served(app)
    expect(await (await fetch(`${url}/quick`)).text()).toBe('done')
    const slow = [1, 2].map(async () => (await fetch(`${url}/slow`)).text())
    while (arrived.length < 2) await sleep(10)
    const started = performance.now()
    const closed = listening!.close()
    await expect(fetch(`${url}/quick`)).rejects.toThrow('fetch failed')
    expect(await Promise.all(slow)).toEqual(['done', 'done'])
    await closed
    expect(performance.now() - started).toBeLessThan(3_000)
  })

  it('does not wait for idle connections', async () => {
    const url = new URL(await served(express()))
    const idle = connect(Number(url.port), '127.0.0.1')
    await once(idle, 'connect')
    await listening!.close()
    idle.destroy()
  })
})

describe('a JSON body', () => {
  it('closes the connection if it misses the deadline, which does not apply to uploads', async () => {
    const app = express()
    app.use(bodyDeadline(100))
    app.post('/', express.json(), async (request, response) => {
      let size = 0
      for await (const chunk of request) size += (chunk as Buffer).length
      response.json({ size })
    })
    const { port } = new URL(await served(app))
    const sent = async (type: string) => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(
        `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n`,
      )
      let answer = ''
      socket.on('data', (data) => (answer += data)).on('error', () => {})
      // Not `end`, because a connection that is reset emits only `close`.
      const closed = new Promise((resolve) => socket.once('close', resolve))
      for (const letter of '1234') {
        await sleep(50)
        socket.write(letter)
      }
      await closed
      return answer
    }
    const [json, file] = await Promise.all([sent('application/json'), sent('text/csv')])
    expect(json).toBe('')
    expect(file).toContain('{"size":4}')
  })

  it('does not block the next request on the connection if it is refused before its end', async () => {
    const app = express()
    app.post('/', () => {
      throw problems.forbidden('No.')
    })
    app.get('/', (_request, response) => void response.send('next'))
    app.use(createErrorHandler(pino({ level: 'silent' }), () => undefined))
    const { port } = new URL(await served(app))
    const socket = connect(Number(port), '127.0.0.1')
    let answer = ''
    socket.on('data', (data) => (answer += data))
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n`)
    while (!answer.includes('"forbidden"')) await sleep(10)
    socket.write(Buffer.alloc(3_000_000, 'x'))
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    await once(socket, 'close')
    expect(answer).toMatch(/^HTTP\/1.1 403 [^]*HTTP\/1.1 200 [^]*next$/)
  })
})

describe('the readiness check', () => {
  const requestReadiness = async (parts: HealthCheck[], stopping = false) => {
    const app = express()
    app.use(createHealthRoutes(parts, () => stopping))
    const answer = await fetch(`${await served(app)}/health/ready`)
    const body = await answer.json()
    listening!.server.closeAllConnections()
    await listening!.close()
    return [answer.status, body]
  }
  const up: HealthCheck = { name: 'database', check: async () => 1 }
  const down: HealthCheck = { name: 'queue', check: () => Promise.reject(new Error('secret details')) }
  const silent: HealthCheck = { name: 'warehouse', check: () => new Promise(() => {}) }

  it('names each dependency that is down or does not respond, without the reason', async () => {
    expect(await requestReadiness([up])).toEqual([200, { status: 'UP', parts: { database: 'UP' } }])
    expect(await requestReadiness([up, down, silent])).toEqual([
      503,
      { status: 'DOWN', parts: { database: 'UP', queue: 'DOWN', warehouse: 'DOWN' } },
    ])
  })

  it('is UP if an optional dependency is down, and DOWN while the service is stopping', async () => {
    expect(await requestReadiness([up, { ...down, optional: true }])).toEqual([
      200,
      { status: 'UP', parts: { database: 'UP', queue: 'DOWN' } },
    ])
    expect(await requestReadiness([up], true)).toMatchObject([503, { status: 'DOWN', stopping: true }])
  })
})
