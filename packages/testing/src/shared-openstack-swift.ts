import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { startSwift, type Swift, swiftAt } from './openstack-swift.ts'

/**
 * Returns the OpenStack Swift server that all test files share, because a start takes four seconds of CPU time. Jest's
 * main process starts it when the first test file needs it, so that tests without Swift do not wait for it. Each test
 * file must use buckets with unique names.
 */
export async function sharedSwift(): Promise<Omit<Swift, typeof Symbol.asyncDispose>> {
  const socket = process.env[variable]
  if (!socket) throw new Error('This test needs the Swift that Jest starts: run it with "npm test".')
  const answer = JSON.parse(await text(connect(socket))) as { endpoint: string } | { error: string }
  if ('error' in answer) throw new Error(answer.error)
  return swiftAt(answer.endpoint)
}

const variable = 'SLUICE_TEST_SWIFT'
let running: { server: Server; folder: string; swift: Promise<Swift> | undefined } | undefined

/** Starts Swift when the first test file requests it. Call it in the global setup of each of Jest's projects. */
export async function serveSwift(): Promise<void> {
  if (process.env[variable]) return
  const folder = await mkdtemp(join(tmpdir(), 'sluice-swift-'))
  const answer = async (socket: Socket) => {
    const { swift } = (running = { server, folder, swift: running?.swift ?? startSwift() })
    const found = await swift!.then(
      ({ endpoint }) => ({ endpoint }),
      (error: Error) => ({ error: `Swift did not start: ${error.message}` }),
    )
    socket.end(JSON.stringify(found))
  }
  const server = createServer((socket) => {
    socket.on('error', () => {})
    void answer(socket)
  })
  running = { server, folder, swift: undefined }
  process.env[variable] = join(folder, 'socket')
  server.listen(process.env[variable])
  await once(server, 'listening')
}

/** Stops Swift. Call it in the global teardown of each of Jest's projects. */
export async function stopSwift(): Promise<void> {
  if (!running) return
  const { server, folder, swift } = running
  running = undefined
  delete process.env[variable]
  server.close()
  await swift?.then(
    (started) => started[Symbol.asyncDispose](),
    () => {},
  )
  await rm(folder, { recursive: true, force: true })
}
