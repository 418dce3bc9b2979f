import { setTimeout as sleep } from 'node:timers/promises'
import type { Response } from 'express'
import type { Logger } from '@sluice/process'

/** One server-sent event, as defined in the HTML Standard. */
export interface ServerSentEvent {
  /** The event's id. A client that reconnects sends it in Last-Event-ID. */
  id?: string
  event: string
  data: unknown
}

/**
 * A stream of server-sent events, as the result of a handler. It ends with the iterable, the connection or the service.
 */
export class EventStream {
  readonly events: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>

  constructor(events: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>) {
    this.events = events
  }
}

/** Milliseconds after which a disconnected client reconnects. */
const reconnectDelayMs = 3_000
/** Milliseconds between keep-alive messages. Proxies close connections that are idle for a minute. */
const keepAliveIntervalMs = 15_000
const checkIntervalMs = 1_000

interface StreamContext {
  isStopping(): boolean
  logger: Pick<Logger, 'warn'>
}

/** Sends a stream until it ends. A slow client slows the stream down instead of filling this process's memory. */
export async function sendEvents(
  response: Response,
  { events }: EventStream,
  { isStopping, logger }: StreamContext,
): Promise<void> {
  const ending = new AbortController()
  const endStream = () => ending.abort()
  response.once('close', endStream)
  // The client may already have disconnected. The stream still starts, so that it releases its resources when it ends.
  if (response.destroyed) endStream()
  response.status(200).set({
    'Content-Type': 'text/event-stream; charset=utf-8',
    // Forbids proxies to buffer events.
    'X-Accel-Buffering': 'no',
  })
  response.write(`retry: ${reconnectDelayMs}\n\n`)
  const keepAlive = startKeepAlive(response)
  const stopCheck = setInterval(() => isStopping() && endStream(), checkIntervalMs)
  try {
    for await (const event of events(ending.signal)) {
      keepAlive.restart()
      const isBufferFull = !response.write(serializeEvent(event))
      if (isBufferFull) await waitForDrain(response, ending.signal)
      if (ending.signal.aborted) break
    }
  } catch (error) {
    // The status has already been sent. The client will reconnect and then get the error.
    if (!ending.signal.aborted) logger.warn({ err: error }, 'a stream of events broke off')
  } finally {
    clearInterval(stopCheck)
    keepAlive.stop()
    response.end()
  }
}

/** Sends an empty comment after every 15 seconds without an event. Call `restart` after each event. */
function startKeepAlive(response: Response): { restart(): void; stop(): void } {
  const timer = setInterval(() => response.write(':\n\n'), keepAliveIntervalMs)
  return { restart: () => void timer.refresh(), stop: () => clearInterval(timer) }
}

/** Formats an event as text. Its data is one line, because JSON contains no raw line breaks. */
const serializeEvent = ({ id, event, data }: ServerSentEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

async function waitForDrain(response: Response, signal: AbortSignal): Promise<void> {
  while (response.writableNeedDrain && !signal.aborted) {
    await Promise.race([new Promise((resolve) => response.once('drain', resolve)), sleep(checkIntervalMs)])
  }
}
