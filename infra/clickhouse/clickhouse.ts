import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as forward, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { startServer } from './clickhouse-server.ts'
import { afterStatement, isAboutUsers, type Users, usersFile } from './clickhouse-users.ts'

export interface ClickHouse extends AsyncDisposable {
  /** The address of its HTTP interface, with the administrator's user and password. */
  url: string
  /** Kills it, as a power cut does. */
  kill(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const admin = { user: 'sluice', password: 'for-trying-only' }
const authorization = `Basic ${Buffer.from(`${admin.user}:${admin.password}`).toString('base64')}`

/**
 * Starts a ClickHouse for tests and experiments, with an HTTP interface, users, grants and limits. The library cannot
 * store users that SQL creates. A proxy therefore intercepts the statements about users, lets the server check their
 * syntax, writes them to users.xml and restarts the server before the next other statement. It forwards everything else
 * unchanged.
 */
export async function startClickHouse({
  library,
  data,
  port = 0,
}: {
  library: string
  data: string
  port?: number
}): Promise<ClickHouse> {
  const file = join(data, 'users.json')
  await mkdir(data, { recursive: true })
  let users = await readFile(file, 'utf8').then(
    (kept) => JSON.parse(kept) as Users,
    (): Users => ({}),
  )
  const start = () => startServer({ library, data, users: usersFile(users, admin) })
  let server = await start()
  let inHand = 0
  let outdated = false
  let renewing: Promise<void> | undefined

  async function renew(): Promise<void> {
    await until(() => inHand === 0)
    await server.end()
    server = await start()
    outdated = false
  }

  async function keep(statement: string): Promise<string | undefined> {
    const parameters = new URLSearchParams({ param_sql: statement.replaceAll('\\', '\\\\') })
    const headers = { authorization }
    const checked = await fetch(`${server.url}/?${parameters.toString()}`, {
      method: 'POST',
      headers,
      body: 'select formatQuery({sql:String})',
    })
    if (!checked.ok) return checked.text()
    await checked.body?.cancel()
    const after = afterStatement(users, statement)
    if (!after) return `Code: 48. DB::Exception: Not known here: ${statement.slice(0, 60)} (NOT_IMPLEMENTED)`
    if (JSON.stringify(after) === JSON.stringify(users)) return undefined
    users = after
    outdated = true
    await writeFile(file, JSON.stringify(users), { mode: 0o600 })
    return undefined
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const whole = /[?&]query=/.test(request.url ?? '') ? undefined : await buffer(request)
    if (whole && request.headers.authorization === authorization && isAboutUsers(whole.toString())) {
      await renewing
      const problem = await keep(whole.toString().trim())
      const [, code = ''] = /Code: (\d+)/.exec(problem ?? '') ?? []
      response.writeHead(problem ? 500 : 200, problem ? { 'x-clickhouse-exception-code': code } : {}).end(problem)
      return
    }
    // Other requests of the administrator do not depend on the users.
    const dependsOnUsers =
      request.headers.authorization !== authorization || /\bsystem\.(users|grants)\b/.test(whole?.toString() ?? '')
    if (outdated && dependsOnUsers) renewing ??= renew().finally(() => (renewing = undefined))
    await renewing
    inHand += 1
    try {
      await handOn(server.url, request, response, whole)
    } finally {
      inHand -= 1
    }
  }

  const proxy = createServer((request, response) => {
    serve(request, response).catch(() => response.socket?.destroySoon())
  })
  proxy.listen(port, '127.0.0.1')
  await once(proxy, 'listening')
  const { port: heard } = proxy.address() as AddressInfo
  async function end(signal?: NodeJS.Signals): Promise<void> {
    if (proxy.listening) {
      proxy.closeAllConnections()
      proxy.close()
      await once(proxy, 'close')
    }
    await renewing
    await server.end(signal)
  }
  return {
    url: `http://${admin.user}:${admin.password}@127.0.0.1:${heard}`,
    kill: () => end('SIGKILL'),
    [Symbol.asyncDispose]: () => end(),
  }
}

async function until(itIsSo: () => boolean): Promise<void> {
  while (!itIsSo()) await pause(5)
}

/** Forwards request and response unchanged. If one side disconnects, the other side is closed. */
async function handOn(url: string, request: IncomingMessage, response: ServerResponse, whole?: Buffer): Promise<void> {
  const { method, headers } = request
  const sent = forward(`${url}${request.url ?? '/'}`, { method, headers, agent: false })
  response.once('close', () => sent.destroy())
  if (whole) sent.end(whole)
  else {
    request.pipe(sent)
    request.once('error', () => sent.destroy())
  }
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  sent.on('error', () => {})
  // The server answers a refused request before it has read all of it.
  request.unpipe(sent).resume()
  response.writeHead(answer.statusCode ?? 500, answer.headers)
  answer.on('data', (chunk: Buffer) => {
    if (!response.write(chunk)) answer.pause()
  })
  response.on('drain', () => answer.resume())
  await once(answer, 'end')
  response.end()
}
