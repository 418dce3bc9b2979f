import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as forward, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { startEngine } from './engine.ts'
import { afterStatement, isAboutUsers, type Users, usersFile } from './users.ts'

export interface ClickHouse extends AsyncDisposable {
  /** Of its HTTP interface, with the administrator's user and password. */
  url: string
  /** Ends it at once, as a machine that loses its power does. */
  kill(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const admin = { user: 'sluice', password: 'for-trying-only' }
const authorization = `Basic ${Buffer.from(`${admin.user}:${admin.password}`).toString('base64')}`

/**
 * ClickHouse for tests and for trying things out: its own HTTP interface, its own users, rights and limits. Its library has no place where
 * SQL could put users. So this stands before it, takes what is said about users, has the server look whether that is SQL, writes it to
 * users.xml and starts the server anew when the next other statement comes. Everything else goes through as it is.
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
  const start = () => startEngine({ library, data, users: usersFile(users, admin) })
  let engine = await start()
  let inHand = 0
  let outdated = false
  let renewing: Promise<void> | undefined

  async function renew(): Promise<void> {
    await until(() => inHand === 0)
    await engine.end()
    engine = await start()
    outdated = false
  }

  async function keep(statement: string): Promise<string | undefined> {
    const parameters = new URLSearchParams({ param_sql: statement.replaceAll('\\', '\\\\') })
    const headers = { authorization }
    const checked = await fetch(`${engine.url}/?${parameters.toString()}`, {
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
    // What the administrator asks is the same to old users and new ones.
    if (outdated && request.headers.authorization !== authorization)
      renewing ??= renew().finally(() => (renewing = undefined))
    await renewing
    inHand += 1
    try {
      await handOn(engine.url, request, response, whole)
    } finally {
      inHand -= 1
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.socket?.destroySoon())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: heard } = server.address() as AddressInfo
  async function end(signal?: NodeJS.Signals): Promise<void> {
    if (server.listening) {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
    await renewing
    await engine.end(signal)
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

/** Both ways as it comes; whoever goes away is heard of on the other side. */
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
  // What the server refuses it answers before it has read everything.
  request.unpipe(sent).resume()
  response.writeHead(answer.statusCode ?? 500, answer.headers)
  answer.on('data', (chunk: Buffer) => {
    if (!response.write(chunk)) answer.pause()
  })
  response.on('drain', () => answer.resume())
  await once(answer, 'end')
  response.end()
}
