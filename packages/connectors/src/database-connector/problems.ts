import { wholeWords } from '@sluice/process'
import { SourceProblem } from '@sluice/row-stream'
import type { DatabaseConfig } from './database-config.ts'
import { type DatabaseEngine, type DatabaseProblemCode, type ExplainedError, StatementNotAllowed } from './session.ts'

type SentenceTemplate = (config: DatabaseConfig, engine: string) => string

const at = ({ host, port }: DatabaseConfig) => `${host}, port ${port}`

const sentences: Record<DatabaseProblemCode, SentenceTemplate> = {
  HOST_UNKNOWN: ({ host }) => `The host ${host} does not exist. Check the host name.`,
  ADDRESS_NOT_ALLOWED: ({ host }) => `${host} may not be connected to.`,
  CONNECTION_REFUSED: (config, engine) =>
    `Nothing accepts connections at ${at(config)}. Check the port, that ${engine} runs there, and that its firewall lets this server in.`,
  CONNECTION_TIMEOUT: (config) =>
    `No answer from ${at(config)} in time. Check the host and port, and that a firewall lets this server in.`,
  CONNECTION_CLOSED: (config, engine) =>
    `${at(config)} closed the connection before sign-in. Check that ${engine} runs there, that it is ready, and that it accepts this server.`,
  CONNECTION_LOST: (config) =>
    `The connection to ${at(config)} broke before everything was read. The old data stays; run again.`,
  TOO_MANY_CONNECTIONS: (config) =>
    `${at(config)} accepts no more connections now. Run again later, or allow it more connections.`,
  OTHER_PROTOCOL: (config, engine) => `The server at ${at(config)} is not ${engine}. Check the type and the port.`,
  TLS_NOT_OFFERED: (config) =>
    `${at(config)} does not offer encrypted connections. Turn on TLS there, or turn off SSL in the pipeline.`,
  TLS_REQUIRED: (config) => `${at(config)} accepts encrypted connections only. Turn on SSL in the pipeline.`,
  CERTIFICATE_NOT_TRUSTED: (config) =>
    `The certificate of ${at(config)} is not trusted. Give the server one that is valid for its name, or choose to trust the server’s certificate.`,
  AUTHENTICATION_FAILED: (config, engine) =>
    config.password === ''
      ? `${engine} at ${at(config)} refuses user "${config.username}", for whom no password is given. Give the password, and check the username.`
      : `${engine} at ${at(config)} refuses user "${config.username}". Check the username, the password, and that this user may come from this server.`,
  DATABASE_MISSING: ({ database, ...config }, engine) =>
    `${engine} at ${config.host} has no ${engine === 'Oracle' ? 'service' : 'database'} "${database}" for user "${config.username}". Check its name.`,
  PERMISSION_DENIED: ({ username }) =>
    `User "${username}" may not read these tables. Grant it the right to read, or use another user.`,
  TABLE_MISSING: ({ database }) =>
    `A table or column does not exist in "${database}". Check the names, and the schema of the tables.`,
  STATEMENT_INVALID: (_config, engine) => `${engine} does not understand the query. Correct it.`,
  STATEMENT_NOT_ALLOWED: () =>
    'Only a single query that reads rows is allowed. Begin it with SELECT, and remove everything else.',
  STATEMENT_FAILED: (_config, engine) => `${engine} could not run the query.`,
  SOURCE_SILENT: (config) =>
    `${at(config)} sent nothing for too long, so the read was stopped. The old data stays. Check what the database is doing, then run again.`,
}

/**
 * Returns the problem as a sentence, followed by the database's own message. The sentence never contains the password,
 * whatever the message contains.
 */
export function databaseProblem(
  { code, detail }: ExplainedError,
  config: DatabaseConfig,
  engine: string,
  options?: ErrorOptions,
): SourceProblem {
  // The password is removed before white space is collapsed and the end is cut, because afterwards a password that contains either would
  // not match.
  const words = detail && redactPassword(detail, config).replaceAll(/\s+/g, ' ').trim().slice(0, 500)
  const message = redactPassword(sentences[code](config, engine), config) + (words ? ` It says: ${words}` : '')
  return new SourceProblem(code, message, options)
}

/** Returns the meaning of an error; undefined if it comes neither from the database, nor its driver, nor the network, which means a bug. */
export function explainError(
  error: unknown,
  config: DatabaseConfig,
  engine: DatabaseEngine,
  signedIn: boolean,
): SourceProblem | undefined {
  // A driver may wrap the error with which its connection was broken.
  const problem = chain(error).find((each) => each instanceof SourceProblem)
  if (problem) return problem
  if (isBug(error)) return undefined
  const known =
    explainStatement(error) ?? engine.explain(error, config) ?? explainTlsError(error) ?? explainNetworkError(error)
  if (known?.code === 'CONNECTION_LOST' && !signedIn) known.code = 'CONNECTION_CLOSED'
  return known && databaseProblem(known, config, engine.name, { cause: redactError(error, config) })
}

/** Returns an error for operators: with its stack, without the password. */
export function redactError(error: unknown, config: DatabaseConfig): Error {
  const redacted = new Error(redactPassword(messageOf(error), config))
  if (error instanceof Error) redacted.stack = redactPassword(error.stack ?? '', config)
  return redacted
}

const explainStatement = (error: unknown): ExplainedError | undefined =>
  error instanceof StatementNotAllowed
    ? { code: 'STATEMENT_NOT_ALLOWED', ...(error.detail !== undefined && { detail: error.detail }) }
    : undefined

/** Adds the message of the database if it explains the problem of a statement better. */
export const withDetail = (code: DatabaseProblemCode, message: string): ExplainedError =>
  /^(STATEMENT_INVALID|STATEMENT_FAILED|PERMISSION_DENIED|TABLE_MISSING)$/.test(code)
    ? { code, detail: message }
    : { code }

export type MessagePatterns = readonly (readonly [RegExp, DatabaseProblemCode])[]

export const findByMessage = (patterns: MessagePatterns, message: string): DatabaseProblemCode | undefined =>
  patterns.find(([pattern]) => pattern.test(message))?.[1]

export const findByCode = (
  table: Readonly<Record<string, DatabaseProblemCode>>,
  error: unknown,
): DatabaseProblemCode | undefined =>
  codes(error)
    .map((code) => table[code])
    .find((code) => code !== undefined)

/** Whether the error is a bug, even if a driver has wrapped it in one of its own errors. */
function isBug(error: unknown): boolean {
  return chain(error).some((each) =>
    [TypeError, ReferenceError, RangeError, SyntaxError].some((kind) => each instanceof kind),
  )
}

const systemErrorCodes: Record<string, DatabaseProblemCode> = {
  ENOTFOUND: 'HOST_UNKNOWN',
  EAI_AGAIN: 'HOST_UNKNOWN',
  ECONNREFUSED: 'CONNECTION_REFUSED',
  EHOSTUNREACH: 'CONNECTION_TIMEOUT',
  ENETUNREACH: 'CONNECTION_TIMEOUT',
  EADDRNOTAVAIL: 'CONNECTION_TIMEOUT',
  ETIMEDOUT: 'CONNECTION_TIMEOUT',
  ECONNRESET: 'CONNECTION_LOST',
  EPIPE: 'CONNECTION_LOST',
  ECONNABORTED: 'CONNECTION_LOST',
  // Errors of Node for writes to a broken connection.
  ERR_STREAM_DESTROYED: 'CONNECTION_LOST',
  ERR_STREAM_WRITE_AFTER_END: 'CONNECTION_LOST',
  ERR_STREAM_PREMATURE_CLOSE: 'CONNECTION_LOST',
  ERR_SOCKET_CLOSED: 'CONNECTION_LOST',
  EHOSTDOWN: 'CONNECTION_TIMEOUT',
  ENETDOWN: 'CONNECTION_TIMEOUT',
  // Errors of a local firewall.
  EACCES: 'CONNECTION_REFUSED',
  EPERM: 'CONNECTION_REFUSED',
}

function explainNetworkError(error: unknown): ExplainedError | undefined {
  const code = findByCode(systemErrorCodes, error)
  return code && { code }
}

const certificateErrorPattern = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|ALTNAME|HOSTNAME_MISMATCH/

function explainTlsError(error: unknown): ExplainedError | undefined {
  if (codes(error).some((code) => certificateErrorPattern.test(code)))
    return { code: 'CERTIFICATE_NOT_TRUSTED', detail: messageOf(error) }
  if (codes(error).some((code) => /^ERR_SSL|^EPROTO$/.test(code)))
    return { code: 'OTHER_PROTOCOL', detail: messageOf(error) }
  return undefined
}

export function codes(error: unknown): string[] {
  return chain(error).map(codeOf)
}

function chain(error: unknown): Error[] {
  const found: Error[] = []
  for (let cause = error; cause instanceof Error && found.length < 10; cause = originOf(cause)) found.push(cause)
  return found
}

function codeOf(error: Error): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

const originOf = (error: Error): unknown => error.cause ?? (error as { originalError?: unknown }).originalError

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Redacts the password as a whole word only: redacting `src` inside of `srcdb` would reveal the password. Names that the
 * pipeline itself shows are not secret.
 */
function redactPassword(message: string, { password, host, database, username }: DatabaseConfig): string {
  const shown = [host, database, username].some((one) => one.toLowerCase() === password.toLowerCase())
  if (password.length < 3 || shown) return message
  return message.replaceAll(new RegExp(wholeWords(password), 'gu'), '[redacted]')
}
