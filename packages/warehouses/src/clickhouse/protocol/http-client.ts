import { addAbortSignal, Readable } from 'node:stream'
import { buffer, text as wholeText } from 'node:stream/consumers'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { formatLiteral } from '../sql-identifiers.ts'

/**
 * The server's address and the user's credentials. `url` is the HTTP interface, `http://host:8123` or
 * `https://host:8443`, and must not contain credentials.
 */
export interface ServerAccess {
  url: string
  user: string
  password: string
}

interface StatementOptions {
  /** The default database for unqualified names. */
  database?: string | undefined
  /** ClickHouse settings for this statement only. */
  settings?: Record<string, string | number>
  /** Values of the `{name:Type}` parameters in the statement, as text. null means NULL. */
  parameters?: Record<string, string | readonly string[] | null>
  signal?: AbortSignal | undefined
  /** Rows of an INSERT, in the format that the statement names. */
  body?: AsyncIterable<Uint8Array>
  queryId?: string
}

/**
 * An error that the ClickHouse server reported, with its message. `code` is its error code:
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
 * Closes a connection after this many milliseconds without a byte in either direction. A working server sends its
 * response or its progress earlier.
 */
const socketTimeoutMs = 900_000
const maxErrorBytes = 64 * 1024

/** Parses an error message of the server, such as `Code: 60. DB::Exception: …`. The code is 0 if the text has none. */
export function parseServerError(serverText: string): ClickHouseError {
  const [, code = '0', message = serverText] =
    /Code:\s*(\d+)\.\s*(?:DB::Exception:\s*)?([\s\S]*)/.exec(serverText) ?? []
  // The server puts such an error between two markers, followed by its length and a tag.
  const [sentence = ''] = message.split(/\r?\n\d+ \w+\r?\n__exception__/)
  return new ClickHouseError(Number(code), sentence.replace(/\s*\(version [^()]*(\([^()]*\))?\)\s*$/, '').trim())
}

/**
 * Opens one connection per statement and logs nothing, because statements contain passwords.
 *
 * Connections are not reused: the server may have just closed a reused connection. The client then cannot know whether
 * the statement ran, and running it twice may change the result.
 *
 * A request with rows still announces keep-alive, so that the server reads all rows before it reports an error.
 * Otherwise the server closes the connection at once, and about half of the error messages are lost.
 */
function createStatementClient({ url, user, password }: ServerAccess, { database, body }: StatementOptions) {
  const { origin, pathname } = new URL(url)
  return createClient({
    url: origin,
    // The path under which a proxy serves ClickHouse. It is a separate option, because the client would take a path in
    // the URL for a database name.
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

/** Sends one statement and returns the response stream. The server rejects a text with several statements. */
export async function sendStatement(
  access: ServerAccess,
  sql: string,
  options: StatementOptions = {},
): Promise<Readable> {
  const { settings = {}, parameters = {}, signal, body, queryId } = options
  signal?.throwIfAborted()
  const client = createStatementClient(access, options)
  // If the source of the rows fails, the connection is closed abruptly, so that the server does not take partial rows
  // for all rows.
  const bodyStream = body && Readable.from(body, { highWaterMark: 1 })
  try {
    const result = await client.exec({
      query: sql,
      ...(bodyStream && { values: bodyStream }),
      query_params: parameters,
      clickhouse_settings: settings,
      ...(queryId !== undefined && { query_id: queryId }),
      ...(signal && { abort_signal: signal }),
      // Sluice parses the error message itself, because the client library would keep only the innermost sentence.
      ignore_error_response: true,
    })
    const { stream, http_status_code: status, response_headers: headers } = result
    const { 'x-clickhouse-exception-code': exceptionCode } = headers
    const isSuccess = status === 200 && exceptionCode === undefined
    if (isSuccess) {
      stream.once('close', () => void client.close())
      return signal ? addAbortSignal(signal, stream) : stream
    }
    const error = parseServerError((await readErrorText(stream)) || `HTTP status ${status}`)
    const hasCodeOnlyInHeader = Number(exceptionCode) > 0 && error.code === 0
    throw hasCodeOnlyInHeader ? new ClickHouseError(Number(exceptionCode), error.message) : error
  } catch (error) {
    bodyStream?.destroy()
    await client.close()
    signal?.throwIfAborted()
    throw error
  }
}

/** Reads about the first 64 KB of an error response as text. */
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

/** Settings with which the response stream ends only after the statement completed or failed. */
const completionSettings = {
  wait_end_of_query: 1,
  http_write_exception_in_output_format: 0,
  max_query_size: 16 * 1024 * 1024,
}

/** Runs a statement to completion and discards its result. */
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
 * Requests the server to stop a query. Does not wait for the query to end. Never throws, because the query's connection
 * is already closed and no caller could handle the error.
 */
export const stopAtServer = (service: ServerAccess, queryId: string): Promise<void> =>
  executeStatement(service, `kill query where query_id = ${formatLiteral(queryId)} async`).catch(() => {})
