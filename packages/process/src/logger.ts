import { type DestinationStream, type Logger, pino } from 'pino'
import type { Redaction } from './log-redaction.ts'
import { AsyncLocalStorage } from 'node:async_hooks'

export type { Logger } from 'pino'

export const logLevelNames = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

interface LoggerOptions {
  name: string
  level: (typeof logLevelNames)[number]
  redaction: Redaction
  /** Default: standard output. */
  destination?: DestinationStream
}

/** Returns a logger that writes JSON lines with ISO 8601 times. It redacts every line and adds the request id. */
export function createLogger({ name, level, redaction, destination }: LoggerOptions): Logger {
  const options = {
    name,
    level,
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: () => ({ requestId: requestScope.getStore()?.requestId }),
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: (line: string) => redaction.apply(line) },
  }
  return destination ? pino(options, destination) : pino(options)
}

interface RequestScope {
  requestId: string
  /** The W3C trace context header, unchanged. */
  traceparent?: string | undefined
}

/** The current request's id and trace context, for log lines and for the headers of requests to other services. */
export const requestScope = new AsyncLocalStorage<RequestScope>()

/** Returns the headers that pass the current request id and trace context on to another service. */
export function scopeHeaders(): Record<string, string> {
  const { requestId, traceparent } = requestScope.getStore() ?? {}
  return { ...(requestId && { 'X-Request-Id': requestId }), ...(traceparent && { traceparent }) }
}
