import { setTimeout as sleep } from 'node:timers/promises'
import type { Response } from 'express'
import type { Logger } from '@sluice/process'

/** One message of a stream, as the HTML Standard has server-sent events. */
export interface ServerSentEvent {
  /** What a client that comes back names in Last-Event-ID. */
  id?: string
  event: string
  data: unknown
}

/** What a handler answers that goes on: events, until the iterable ends, the connection does, or the service stops. */
export class EventStream {
  readonly events: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>

  constructor(events: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>) {
    this.events = events
  }
}

/** Milliseconds after which a client whose connection broke comes back. */
const reconnectDelayMs = 3_000
/** Milliseconds. Proxies close what is silent for a minute. */
const keepAliveIntervalMs = 15_000
const checkIntervalMs = 1_000

interface StreamContext {
  isStopping(): boolean
  logger: Pick<Logger, 'warn'>
}

/** Sends a stream to its end. A client that reads slowly slows the stream down, and holds no memory here. */
export async function sendEvents(
  response: Response,
  { events }: EventStream,
  { isStopping, logger }: StreamContext,
): Promise<void> {
  const ended = new AbortController()
  const end = () => ended.abort()
  response.once('close', end)
  // Whoever asked may have gone while the answer was prepared. The stream is begun all the same: it gives back what it
  // holds where it ends, which is at once.
  if (response.destroyed) end()
  response.status(200).set({
    'Content-Type': 'text/event-stream; charset=utf-8',
    // No proxy in between should collect what is meant to be seen at once.
    'X-Accel-Buffering': 'no',
  })
  response.write(`retry: ${reconnectDelayMs}\n\n`)
  let silent = 0
  const timer = setInterval(() => {
    if (isStopping()) end()
    silent += checkIntervalMs
    if (silent >= keepAliveIntervalMs) {
      response.write(':\n\n')
      silent = 0
    }
  }, checkIntervalMs)
  try {
    for await (const event of events(ended.signal)) {
      silent = 0
      if (!response.write(serializeEvent(event))) await waitForDrain(response, ended.signal)
      if (ended.signal.aborted) break
    }
  } catch (error) {
    // The status was sent long ago: the client comes back, and is told then.
    if (!ended.signal.aborted) logger.warn({ err: error }, 'a stream of events broke off')
  } finally {
    clearInterval(timer)
    response.end()
  }
}

/** JSON has no line breaks of its own, so that a message is one line. */
const serializeEvent = ({ id, event, data }: ServerSentEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

async function waitForDrain(response: Response, signal: AbortSignal): Promise<void> {
  while (response.writableNeedDrain && !signal.aborted) {
    await Promise.race([new Promise((resolve) => response.once('drain', resolve)), sleep(checkIntervalMs)])
  }
}
