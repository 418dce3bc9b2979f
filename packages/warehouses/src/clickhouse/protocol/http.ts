import { addAbortSignal, Readable } from 'node:stream'
import { buffer, text as wholeText } from 'node:stream/consumers'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { formatLiteral } from '../names.ts'

/**
 * The server's address and the user. `url` is the HTTP interface, `http://host:8123` or `https://host:8443`, and contains no user
 * or password.
 */
export interface ServerAccess {
  url: string
  user: string
  password: string
}

interface StatementOptions {
  /** The default database for unqualified names. */
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

/**
 * An error of the server in its own words. `code` is its number:
 * https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
 */
export class ClickHouseError extends Error {
  override readonly name = 'ClickHouseError'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Milliseconds without any byte in either direction until the connection is closed: a live server responds earlier, or sends its
 * progress.
 */
const socketTimeoutMs = 900_000
const maxErrorBytes = 64 * 1024

/** Returns the error with which the server ended a result after it had sent the first rows. */
export function errorIn(serverText: string): ClickHouseError {
  const [, code = '0', message = serverText] =
    /Code:\s*(\d+)\.\s*(?:DB::Exception:\s*)?([\s\S]*)/.exec(serverText) ?? []
  // The server writes such an error between two marks, followed by its length and a tag.
  const [sentence = ''] = message.split(/\r?\n\d+ \w+\r?\n__exception__/)
  return new ClickHouseError(Number(code), sentence.replace(/\s*\(version [^()]*(\([^()]*\))?\)\s*$/, '').trim())
}

/**
 * Opens one connection per statement. The server may just have closed a reused connection; then the client cannot know whether
 * the server received the statement, and a repeated statement may have other effects. If the request sends rows, it announces
 * keep-alive: then the server reads rejected rows to their end before it reports the error. Otherwise the server closes the
 * connection at once, and its error message is lost about every second time. Logs nothing, because statements contain passwords.
 */
function createStatementClient({ url, user, password }: ServerAccess, { database, body }: StatementOptions) {
  const { origin, pathname } = new URL(url)
  return createClient({
    url: origin,
    // The path under which a proxy serves the server, as a separate option, because the client reads a path in the URL as a database.
    ...(pathname !== '/' && { pathname }),
    username: user,
    password,
    ...(database !== undefined && { database }),
    application: 'sluice',
    keep_alive: { enabled: body !== undefined },
    request_timeout: socketTimeoutMs,
    log: { level: ClickHouseLogLevel.OFF },
  })
}

/** Sends one statement; the server rejects a second one in the same text. Returns the response stream. */
export async function sendStatement(
  access: ServerAccess,
  sql: string,
  options: StatementOptions = {},
): Promise<Readable> {
  const { settings = {}, parameters = {}, signal, body, queryId } = options
  signal?.throwIfAborted()
  const client = createStatementClient(access, options)
  // If the source fails, the connection is broken, so that the server does not accept partial data as complete.
  const bodyStream = body && Readable.from(body, { highWaterMark: 1 })
  try {
    const result = await client.exec({
      query: sql,
      ...(bodyStream && { values: bodyStream }),
      query_params: parameters,
      clickhouse_settings: settings,
      ...(queryId !== undefined && { query_id: queryId }),
      ...(signal && { abort_signal: signal }),
      // The service parses the error message itself: the client would discard all but the innermost sentence.
      ignore_error_response: true,
    })
    const { stream, http_status_code: status, response_headers: headers } = result
    const { 'x-clickhouse-exception-code': code } = headers
    if (status === 200 && code === undefined) {
      stream.once('close', () => void client.close())
      return signal ? addAbortSignal(signal, stream) : stream
    }
    const error = errorIn((await readErrorText(stream)) || `HTTP status ${status}`)
    throw Number(code) > 0 && error.code === 0 ? new ClickHouseError(Number(code), error.message) : error
  } catch (error) {
    bodyStream?.destroy()
    await client.close()
    signal?.throwIfAborted()
    throw error
  }
}

async function readErrorText(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxErrorBytes) break
  }
  return Buffer.concat(chunks).toString()
}

/** The statement is complete, or has failed, when this stream ends. */
const completionSettings = {
  wait_end_of_query: 1,
  http_write_exception_in_output_format: 0,
  max_query_size: 16 * 1024 * 1024,
}

/** Runs a statement to its end, and ignores its result. */
export async function executeStatement(
  access: ServerAccess,
  sql: string,
  options: StatementOptions = {},
): Promise<void> {
  const response = await sendStatement(access, sql, {
    ...options,
    settings: { ...completionSettings, ...options.settings },
  })
  await buffer(response)
}

/** Runs an internal query with a small result and returns its rows as objects. */
export async function rowsOf<Row>(access: ServerAccess, sql: string, options: StatementOptions = {}): Promise<Row[]> {
  const settings = { ...completionSettings, output_format_json_quote_64bit_integers: 0, ...options.settings }
  const response = await sendStatement(access, `${sql} format JSONEachRow`, { ...options, settings })
  const lines = (await wholeText(response)).split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row)
}

/**
 * Asks the server to stop a query. Returns before the query has ended, and never throws, because the connection that ran the query is
 * already closed.
 */
export const stopAtServer = (service: ServerAccess, queryId: string): Promise<void> =>
  executeStatement(service, `kill query where query_id = ${formatLiteral(queryId)} async`).catch(() => {})
