import { addAbortSignal, Readable } from 'node:stream'
import { buffer, text as wholeText } from 'node:stream/consumers'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'

/** Who asks, and where. `url` is the HTTP interface, `http://host:8123` or `https://host:8443`, without user and password. */
export interface ServerAccess {
  url: string
  user: string
  password: string
}

export interface StatementOptions {
  /** Where names without a database are looked for. */
  database?: string | undefined
  /** Server settings of this one statement. */
  settings?: Record<string, string | number>
  /** Values of `{name:Type}`, as text; null is NULL. */
  parameters?: Record<string, string | readonly string[] | null>
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

/** Whatever ended a result behind its first rows, in the words of the server. */
export function errorIn(words: string): ClickHouseError {
  const [, code = '0', message = words] = /Code:\s*(\d+)\.\s*(?:DB::Exception:\s*)?([\s\S]*)/.exec(words) ?? []
  // Behind rows the server puts its words between two marks, with their length and a tag.
  const [said = ''] = message.split(/\r?\n\d+ \w+\r?\n__exception__/)
  return new ClickHouseError(Number(code), said.replace(/\s*\(version [^()]*(\([^()]*\))?\)\s*$/, '').trim())
}

/**
 * A connection for each statement: one that is used again may just have been closed by the server, and then nobody knows whether the
 * statement was heard; doing it once more is not the same as doing it once. Where rows are sent, the server hears that the connection
 * could go on: then it reads rows that it refuses to their end before it says why. Else it closes at once, and its words are lost
 * on the way every other time. Nothing is logged: statements hold passwords.
 */
function clientOf({ url, user, password }: ServerAccess, { database, body }: StatementOptions) {
  const { origin, pathname } = new URL(url)
  return createClient({
    url: origin,
    // Behind a proxy. In the URL itself the client would take it for a database.
    ...(pathname !== '/' && { pathname }),
    username: user,
    password,
    ...(database !== undefined && { database }),
    application: 'sluice',
    keep_alive: { enabled: body !== undefined },
    request_timeout: silence,
    log: { level: ClickHouseLogLevel.OFF },
  })
}

/** Sends one statement; the server takes no second one behind it. Answers what it streams back. */
export async function sendStatement(
  access: ServerAccess,
  sql: string,
  asked: StatementOptions = {},
): Promise<Readable> {
  const { settings = {}, parameters = {}, signal, body, queryId } = asked
  signal?.throwIfAborted()
  const client = clientOf(access, asked)
  // A source that fails breaks the connection off, so that the server takes no half for the whole.
  const values = body && Readable.from(body, { highWaterMark: 1 })
  try {
    const answer = await client.exec({
      query: sql,
      ...(values && { values }),
      query_params: parameters,
      clickhouse_settings: settings,
      ...(queryId !== undefined && { query_id: queryId }),
      ...(signal && { abort_signal: signal }),
      // We read its words ourselves: the client would leave out all but the innermost sentence.
      ignore_error_response: true,
    })
    const { stream, http_status_code: status, response_headers: headers } = answer
    const { 'x-clickhouse-exception-code': code } = headers
    if (status === 200 && code === undefined) {
      stream.once('close', () => void client.close())
      return signal ? addAbortSignal(signal, stream) : stream
    }
    const error = errorIn((await beginning(stream)) || `HTTP status ${status}`)
    throw Number(code) > 0 && error.code === 0 ? new ClickHouseError(Number(code), error.message) : error
  } catch (error) {
    values?.destroy()
    await client.close()
    signal?.throwIfAborted()
    throw error
  }
}

async function beginning(stream: Readable): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    parts.push(chunk)
    length += chunk.length
    if (length > mostErrorText) break
  }
  return Buffer.concat(parts).toString()
}

/** The statement is done, or has failed, when this ends. */
const toItsEnd = { wait_end_of_query: 1, http_write_exception_in_output_format: 0, max_query_size: 16 * 1024 * 1024 }

/** A statement that answers nothing. */
export async function execute(access: ServerAccess, sql: string, asked: StatementOptions = {}): Promise<void> {
  const response = await sendStatement(access, sql, { ...asked, settings: { ...toItsEnd, ...asked.settings } })
  await buffer(response)
}

/** A few rows of our own asking, as objects. */
export async function rowsOf<Row>(access: ServerAccess, sql: string, asked: StatementOptions = {}): Promise<Row[]> {
  const settings = { ...toItsEnd, output_format_json_quote_64bit_integers: 0, ...asked.settings }
  const response = await sendStatement(access, `${sql} format JSONEachRow`, { ...asked, settings })
  const lines = (await wholeText(response)).split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row)
}
