import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as sendRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { startServer } from './clickhouse-server.ts'
import { applyUserStatement, isUserStatement, type Users, buildUsersXml } from './clickhouse-users.ts'

export interface ClickHouse extends AsyncDisposable {
  /** The address of the HTTP interface, with the user name and password of the administrator. */
  url: string
  /** Kills the server without a shutdown. */
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
    (text) => JSON.parse(text) as Users,
    (): Users => ({}),
  )
  const start = () => startServer({ library, data, users: buildUsersXml(users, admin) })
  let server = await start()
  let openRequests = 0
  let hasStaleUsers = false
  let restarting: Promise<void> | undefined

  async function restartServer(): Promise<void> {
    await waitUntil(() => openRequests === 0)
    await server.stop()
    server = await start()
    hasStaleUsers = false
  }

  /** Applies a statement about users. Returns the error message of an invalid or unsupported statement. */
  async function changeUsers(statement: string): Promise<string | undefined> {
    const parameters = new URLSearchParams({ param_sql: statement.replaceAll('\\', '\\\\') })
    const headers = { authorization }
    const checked = await fetch(`${server.url}/?${parameters.toString()}`, {
      method: 'POST',
      headers,
      body: 'select formatQuery({sql:String})',
    })
    if (!checked.ok) return checked.text()
    await checked.body?.cancel()
    const after = applyUserStatement(users, statement)
    if (!after) return `Code: 48. DB::Exception: Unsupported statement: ${statement.slice(0, 60)} (NOT_IMPLEMENTED)`
    if (JSON.stringify(after) === JSON.stringify(users)) return undefined
    users = after
    hasStaleUsers = true
    await writeFile(file, JSON.stringify(users), { mode: 0o600 })
    return undefined
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const statementBody = /[?&]query=/.test(request.url ?? '') ? undefined : await buffer(request)
    if (statementBody && request.headers.authorization === authorization && isUserStatement(statementBody.toString())) {
      await restarting
      const problem = await changeUsers(statementBody.toString().trim())
      const [, code = ''] = /Code: (\d+)/.exec(problem ?? '') ?? []
      response.writeHead(problem ? 500 : 200, problem ? { 'x-clickhouse-exception-code': code } : {}).end(problem)
      return
    }
    // Requests of the administrator do not depend on other users, unless they read the tables of users or grants.
    const dependsOnUsers =
      request.headers.authorization !== authorization ||
      /\bsystem\.(users|grants)\b/.test(statementBody?.toString() ?? '')
    if (hasStaleUsers && dependsOnUsers) restarting ??= restartServer().finally(() => (restarting = undefined))
    await restarting
    openRequests += 1
    try {
      await forwardRequest(server.url, request, response, statementBody)
    } finally {
      openRequests -= 1
    }
  }

  const proxy = createServer((request, response) => {
    serve(request, response).catch(() => response.socket?.destroySoon())
  })
  proxy.listen(port, '127.0.0.1')
  await once(proxy, 'listening')
  const { port: proxyPort } = proxy.address() as AddressInfo
  async function stop(signal?: NodeJS.Signals): Promise<void> {
    if (proxy.listening) {
      proxy.closeAllConnections()
      proxy.close()
      await once(proxy, 'close')
    }
    await restarting
    await server.stop(signal)
  }
  return {
    url: `http://${admin.user}:${admin.password}@127.0.0.1:${proxyPort}`,
    kill: () => stop('SIGKILL'),
    [Symbol.asyncDispose]: () => stop(),
  }
}

async function waitUntil(isMet: () => boolean): Promise<void> {
  while (!isMet()) await pause(5)
}

/** Forwards request and response unchanged. If one side disconnects, the other side is closed. */
async function forwardRequest(
  url: string,
  request: IncomingMessage,
  response: ServerResponse,
  statementBody?: Buffer,
): Promise<void> {
  const { method, headers } = request
  const sent = sendRequest(`${url}${request.url ?? '/'}`, { method, headers, agent: false })
  response.once('close', () => sent.destroy())
  if (statementBody) sent.end(statementBody)
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
