import { Agent, type IncomingMessage, request as plain } from 'node:http'
import { Agent as SecureAgent, request as secure } from 'node:https'
import { once } from 'node:events'
import { buffer, text as wholeText } from 'node:stream/consumers'

/** Who asks, and where. `url` is the HTTP interface, `http://host:8123` or `https://host:8443`, without user and password. */
export interface Access {
  url: string
  user: string
  password: string
}

export interface Asked {
  /** Where names without a database are looked for. */
  database?: string | undefined
  /** Server settings of this one statement. */
  settings?: Record<string, string | number>
  /** Values of `{name:Type}`, as text; null is NULL. */
  parameters?: Record<string, string | null>
  signal?: AbortSignal | undefined
  /** Rows for an INSERT, in the format that the statement names. */
  body?: AsyncIterable<Uint8Array>
  queryId?: string
}

/** The server's own words. `code` is its number: https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp */
export class ClickHouseError extends Error {
  override readonly name = 'ClickHouseError'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** Milliseconds without a byte either way after which the server is given up: it answers long before, or sends its progress. */
const silence = 900_000
const mostErrorText = 64 * 1024
/**
 * A connection for each statement: one that is used again may just have been closed by the server, and then nobody knows whether the
 * statement was heard; doing it once more is not the same as doing it once.
 */
const agents = { 'http:': new Agent({ keepAlive: false }), 'https:': new SecureAgent({ keepAlive: false }) }

/** Whatever ended a result behind its first rows, in the words of the server. */
export function errorIn(words: string): ClickHouseError {
  const [, code = '0', message = words] = /Code:\s*(\d+)\.\s*(?:DB::Exception:\s*)?([\s\S]*)/.exec(words) ?? []
  return new ClickHouseError(Number(code), message.replace(/\s*\(version [^()]*(\([^()]*\))?\)\s*$/, '').trim())
}

/** Sends one statement; the server takes no second one behind it. Answers what it streams back. */
export async function ask(access: Access, sql: string, asked: Asked = {}): Promise<IncomingMessage> {
  const { database, settings = {}, parameters = {}, signal, body, queryId } = asked
  const url = new URL(access.url)
  if (database !== undefined) url.searchParams.set('database', database)
  if (queryId !== undefined) url.searchParams.set('query_id', queryId)
  for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, String(value))
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(`param_${name}`, escapedText(value))
  if (body) url.searchParams.set('query', sql)
  const protocol = url.protocol === 'https:' ? 'https:' : 'http:'
  const request = (protocol === 'https:' ? secure : plain)(url, {
    method: 'POST',
    agent: agents[protocol],
    headers: {
      authorization: `Basic ${Buffer.from(`${access.user}:${access.password}`).toString('base64')}`,
      'content-type': 'application/octet-stream',
    },
    ...(signal && { signal }),
  })
  request.setTimeout(silence, () => request.destroy(new Error('timeout expired')))
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  // Whoever sends the body is told first.
  answered.catch(() => {})
  if (body) await sendAll(request, body, answered)
  else request.end(sql)
  const [response] = await answered
  if (response.statusCode === 200 && response.headers['x-clickhouse-exception-code'] === undefined) return response
  const words = await beginning(response)
  const code = Number(response.headers['x-clickhouse-exception-code'] ?? 0)
  const error = errorIn(words || `HTTP status ${response.statusCode}`)
  throw code > 0 && error.code === 0 ? new ClickHouseError(code, error.message) : error
}

/** With back-pressure. A source that fails breaks the connection off, so that the server takes no half for the whole. */
async function sendAll(
  request: ReturnType<typeof plain>,
  body: AsyncIterable<Uint8Array>,
  answered: Promise<[IncomingMessage]>,
): Promise<void> {
  let refused = false
  const early = answered.then(
    () => (refused = true),
    () => (refused = true),
  )
  try {
    for await (const chunk of body) {
      // The server answers before the end only where it refuses.
      if (refused) break
      if (!request.write(chunk)) await Promise.race([once(request, 'drain'), early])
    }
    request.end()
  } catch (error) {
    if (refused) return
    request.destroy()
    throw error
  }
}

async function beginning(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    parts.push(chunk)
    length += chunk.length
    if (length > mostErrorText) break
  }
  return Buffer.concat(parts).toString()
}

/** As the server reads parameters: like a field of tab-separated text. */
function escapedText(value: string | null): string {
  if (value === null) return '\\N'
  return value.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
}

/** The statement is done, or has failed, when this ends. */
const toItsEnd = { wait_end_of_query: 1, http_write_exception_in_output_format: 0, max_query_size: 16 * 1024 * 1024 }

/** A statement that answers nothing. */
export async function execute(access: Access, sql: string, asked: Asked = {}): Promise<void> {
  const response = await ask(access, sql, { ...asked, settings: { ...toItsEnd, ...asked.settings } })
  await buffer(response)
}

/** A few rows of our own asking, as objects. */
export async function rowsOf<Row>(access: Access, sql: string, asked: Asked = {}): Promise<Row[]> {
  const settings = { ...toItsEnd, output_format_json_quote_64bit_integers: 0, ...asked.settings }
  const response = await ask(access, `${sql} format JSONEachRow`, { ...asked, settings })
  const lines = (await wholeText(response)).split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row)
}
