import { ServiceUnavailable } from './service-errors.ts'
import { malformedResponse, pause, type ServiceClient } from './service-client.ts'
import type { CallInput, Operation, UntypedInput } from './operation.ts'
import { dataPipelines, type LogEntry, type Run } from './generated/pipeline.ts'

/** A server-sent event, as defined in the HTML Standard. */
export interface ServerSentEvent<Data> {
  /** The id of this event, or of the last event that had an id. */
  id: string
  event: string
  data: Data
}

export interface EventOptions {
  /** Starts after the event with this id. */
  lastEventId?: string
  /** Milliseconds for which the stream tries to restore a lost connection before it throws. Default: 60,000. */
  restoreForMs?: number
  /**
   * Milliseconds without a byte after which a connection counts as lost. The services send one every 15 seconds.
   * Default: 45,000.
   */
  silenceLimitMs?: number
}

const defaultReconnectDelayMs = 3_000
const defaultRestoreMs = 60_000
const defaultSilenceLimitMs = 45_000

/**
 * Yields the events of a stream. After a lost or ended connection, connects again and continues after the last received
 * event. Stops when the caller leaves the loop or the signal aborts. Throws `RemoteProblem` if the service rejects the
 * request.
 */
export async function* events<Path extends string, Query, Body, Data>(
  client: ServiceClient,
  operation: Operation<Path, Query, Body, Data>,
  input: CallInput<Path, Query, Body> & EventOptions,
): AsyncGenerator<ServerSentEvent<Data>, void, void> {
  const { params, query, body, signal, headers } = input as UntypedInput
  const { restoreForMs = defaultRestoreMs, silenceLimitMs = defaultSilenceLimitMs } = input
  // `parseEvents` updates both fields with what the stream contains.
  const streamState: StreamState = { lastEventId: input.lastEventId ?? '', reconnectDelayMs: defaultReconnectDelayMs }
  let lastReceivedAt = Date.now()
  for (;;) {
    try {
      const { lastEventId } = streamState
      const resumeHeaders = lastEventId === '' ? {} : { 'last-event-id': lastEventId }
      const request = { params, query, body, signal, headers: { ...headers, ...resumeHeaders } }
      const response = await client.fetch(operation as Operation, request as never)
      lastReceivedAt = Date.now()
      const hasStreamEnded = response.status === 204
      if (hasStreamEnded) return
      const texts = readTexts(response, silenceLimitMs, signal)
      for await (const { id, event, data } of parseEvents(texts, streamState)) {
        yield { id, event, data: parseData(operation, data) as Data }
        lastReceivedAt = Date.now()
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      const isLostForTooLong = Date.now() - lastReceivedAt > restoreForMs
      if (!isConnectionLost(error) || isLostForTooLong) throw error
    }
    await pause(streamState.reconnectDelayMs, signal)
  }
}

const isConnectionLost = (error: unknown): boolean =>
  error instanceof ServiceUnavailable && error.reason !== 'malformed-answer'

/**
 * Yields the text of a response as it arrives, until the response ends or sends nothing for `silenceLimitMs`. Throws
 * `ServiceUnavailable` if the connection breaks.
 */
export async function* readTexts(
  { body }: Response,
  silenceLimitMs: number,
  signal?: AbortSignal,
): AsyncGenerator<string, void, void> {
  if (!body) return
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    for (;;) {
      // Cancelling the reader completes its pending `read` with `done`.
      timer = setTimeout(() => void reader.cancel().catch(() => {}), silenceLimitMs)
      const { done, value } = await reader.read()
      clearTimeout(timer)
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } catch (cause) {
    if (signal?.aborted) throw signal.reason
    throw new ServiceUnavailable('unreachable', 'The connection broke.', { cause })
  } finally {
    clearTimeout(timer)
    await reader.cancel().catch(() => {})
  }
}

/** The position and delay with which the next connection continues a stream. */
interface StreamState {
  lastEventId: string
  reconnectDelayMs: number
}

/**
 * Parses the text of an event stream by the rules of the HTML Standard: an event consists of lines such as `data: text`
 * and ends at an empty line. Discards an event that is incomplete at the end. Writes the id of the last complete event
 * and the reconnect delay into `state`.
 */
export async function* parseEvents(
  texts: AsyncIterable<string>,
  state: StreamState,
): AsyncGenerator<ServerSentEvent<string>, void, void> {
  let incompleteLine = ''
  let id = state.lastEventId
  let event = ''
  let data: string[] = []
  for await (const text of texts) {
    // A carriage return at the end may be the first half of a CRLF.
    const lines = (incompleteLine + text).split(/\r\n|\n|\r(?!$)/)
    incompleteLine = lines.pop() ?? ''
    for (const line of lines) {
      const isEndOfEvent = line === ''
      if (isEndOfEvent) {
        state.lastEventId = id
        if (data.length > 0) yield { id, event: event || 'message', data: data.join('\n') }
        event = ''
        data = []
        continue
      }
      const { field, value } = splitField(line)
      if (field === 'data') data.push(value)
      else if (field === 'event') event = value
      else if (field === 'id' && !value.includes('\0')) id = value
      else if (field === 'retry' && /^\d+$/.test(value)) state.reconnectDelayMs = Number(value)
    }
  }
}

/** Splits a line such as `data: text` at its first colon. The colon, the space after it and the value are optional. */
function splitField(line: string): { field: string; value: string } {
  const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
  return { field, value }
}

function parseData({ path }: Operation, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw malformedResponse(path, 'an event is not JSON', cause)
  }
}

/** A line of the run's log, or the run with its latest progress. */
export type RunEvent = { event: 'log'; data: LogEntry } | { event: 'run'; data: Run }

/**
 * Yields the log lines and the progress of a data pipeline's run, from its start to its end. The last event is the run
 * with `finished`.
 */
export async function* followRun(
  client: ServiceClient,
  { uid, taskId, ...options }: { uid: string; taskId: string; signal?: AbortSignal | undefined } & EventOptions,
): AsyncGenerator<RunEvent, void, void> {
  for await (const { event, data } of events(client, dataPipelines.followLogs, {
    params: { uid },
    query: { taskId },
    ...options,
  })) {
    if (event === 'log') yield { event, data }
    if (event !== 'run') continue
    const run = data as unknown as Run
    yield { event, data: run }
    if (run.finished !== undefined) return
  }
}
