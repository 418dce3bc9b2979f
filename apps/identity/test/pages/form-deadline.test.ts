import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { formDeadline, readForm } from '../../src/pages/read-form.ts'
import { startService, type Service } from '../app-under-test.ts'

const head = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${length}\r\n\r\n`

async function sending(port: number, text: string) {
  const socket: Socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (data) => (received += String(data))).on('error', () => {})
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  socket.write(text)
  return { socket, closed, received: () => received }
}

describe('a form that arrives slowly', () => {
  it('closes its connection, and keeps the connection of a complete form', async () => {
    const app = express().use(formDeadline(200), readForm, (request, response) => {
      setTimeout(() => response.json(request.body), 400)
    })
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const slow = await sending(port, `${head('/', 100)}a=`)
    const whole = await sending(port, `${head('/', 3)}a=1`)
    await slow.closed
    expect(slow.received()).toBe('')
    // The response takes longer than the deadline of the form.
    while (!whole.received().includes('{"a":"1"}')) await sleep(10)
    whole.socket.destroy()
    server.close()
  })
})

describe('every form', () => {
  let service: Service
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(() => service.stop())

  it.each(['/account/forgot-password', '/account/reset-password', '/oidc/token', '/interaction/x/login'])(
    'at %s has half a minute to arrive',
    async (path) => {
      const timers = jest.spyOn(globalThis, 'setTimeout')
      const { port } = new URL(service.http.get('/').url)
      const slow = await sending(Number(port), `${head(path, 100)}a=`)
      while (!timers.mock.calls.some(([, milliseconds]) => milliseconds === 30_000)) await sleep(10)
      timers.mockRestore()
      slow.socket.destroy()
      await slow.closed
    },
  )
})
