import { pino, type DestinationStream, type Logger } from 'pino'
import type { Redaction } from './redaction.ts'
import { requestScope } from './request-scope.ts'

export type { Logger } from 'pino'

export const logLevelNames = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

interface LoggerOptions {
  name: string
  level: (typeof logLevelNames)[number]
  redaction: Redaction
  /** Standard output when absent. */
  destination?: DestinationStream
}

/** JSON lines with ISO times. Every line passes through the redaction, so no call site has to remember it; the request id comes along by itself. */
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
