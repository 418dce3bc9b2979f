import { wholeWords } from '@sluice/process'
import { SourceProblem } from '@sluice/row-stream'
import type { DatabaseConfig } from './database-config.ts'
import {
  type DatabaseEngine,
  type DatabaseProblemCode,
  type ClassifiedError,
  NoColumnsError,
  StatementNotAllowedError,
} from './database-session.ts'

type SentenceTemplate = (config: DatabaseConfig, engine: string) => string

const formatServer = ({ host, port }: DatabaseConfig) => `${host}, port ${port}`

const problemSentences: Record<DatabaseProblemCode, SentenceTemplate> = {
  HOST_UNKNOWN: ({ host }) => `The host ${host} does not exist. Check the host name.`,
  ADDRESS_NOT_ALLOWED: ({ host }) =>
    `Connections to ${host} are not allowed. Use a public address, or ask an operator to allow this one.`,
  CONNECTION_REFUSED: (config, engine) =>
    `Nothing accepts connections at ${formatServer(config)}. Check the port, that ${engine} runs there, and that no firewall blocks connections from the Sluice server.`,
  CONNECTION_TIMEOUT: (config) =>
    `${formatServer(config)} did not respond in time. Check the host and port, and that no firewall blocks connections from the Sluice server.`,
  CONNECTION_CLOSED: (config, engine) =>
    `${formatServer(config)} closed the connection before sign-in. Check that ${engine} runs there, has started completely, and accepts connections from the Sluice server.`,
  CONNECTION_LOST: (config) =>
    `The connection to ${formatServer(config)} broke before everything was read. The old data stays; run again.`,
  TOO_MANY_CONNECTIONS: (config) =>
    `${formatServer(config)} has reached its maximum number of connections. Run again later, or increase that maximum.`,
  OTHER_PROTOCOL: (config, engine) =>
    `The server at ${formatServer(config)} is not ${engine}. Check the type and the port.`,
  TLS_NOT_OFFERED: (config) =>
    `${formatServer(config)} does not offer encrypted connections. Turn on TLS in the database, or turn off SSL in the pipeline.`,
  TLS_REQUIRED: (config) => `${formatServer(config)} accepts encrypted connections only. Turn on SSL in the pipeline.`,
  CERTIFICATE_NOT_TRUSTED: (config) =>
    `The certificate of ${formatServer(config)} is not trusted. Install a certificate that is valid for the name of the server, or set trustServerCertificate in the pipeline to accept any certificate.`,
  AUTHENTICATION_FAILED: (config, engine) =>
    config.password === ''
      ? `${engine} at ${formatServer(config)} rejected user "${config.username}" without a password. Enter the password, and check the username.`
      : `${engine} at ${formatServer(config)} rejected user "${config.username}". Check the username, the password, and that this user may connect from the Sluice server.`,
  DATABASE_MISSING: ({ database, ...config }, engine) =>
    `${engine} at ${config.host} has no ${engine === 'Oracle' ? 'service' : 'database'} "${database}" for user "${config.username}". Check its name.`,
  PERMISSION_DENIED: ({ username }) =>
    `User "${username}" may not read these tables. Grant this user the SELECT privilege, or use another user.`,
  TABLE_MISSING: ({ database }) =>
    `A table or column does not exist in "${database}". Check the names, and the schema of the tables.`,
  NO_COLUMNS: () => 'The table has no columns. Add columns in the database, or load another table.',
  STATEMENT_INVALID: (_config, engine) => `${engine} reports a syntax error in the query. Correct the query.`,
  STATEMENT_NOT_ALLOWED: () =>
    'Only a single query that reads rows is allowed. Start the query with SELECT, and remove all other statements.',
  STATEMENT_FAILED: (_config, engine) => `${engine} could not run the query. Correct the cause that its message names.`,
  SOURCE_SILENT: (config) =>
    `${formatServer(config)} sent nothing for too long, so the read was stopped. The old data stays. Check whether the query is blocked or slow in the database, then run again.`,
}

/** Returns a problem with a sentence for the user and the database's message. The password is redacted in both. */
export function createDatabaseProblem(
  { code, detail }: ClassifiedError,
  config: DatabaseConfig,
  engine: string,
  options?: ErrorOptions,
): SourceProblem {
  // Redacts the password before shortening the text and collapsing white space; otherwise a cut part of the password
  // would no longer match.
  const serverText = detail && redactPassword(detail, config).replaceAll(/\s+/g, ' ').trim().slice(0, 500)
  const message =
    redactPassword(problemSentences[code](config, engine), config) + (serverText ? ` It says: ${serverText}` : '')
  return new SourceProblem(code, message, options)
}

/**
 * Returns the problem for an error of the database, its driver or the network. Returns undefined for any other error,
 * which is a bug.
 */
export function findDatabaseProblem(
  error: unknown,
  config: DatabaseConfig,
  engine: DatabaseEngine,
  isSignedIn: boolean,
): SourceProblem | undefined {
  // The driver may have wrapped the `SourceProblem` with which this code closed the connection.
  const problem = listCauses(error).find((cause) => cause instanceof SourceProblem)
  if (problem) return problem
  if (isBug(error)) return undefined
  const classified = classifyError(error, config, engine)
  if (!classified) return undefined
  const closedBeforeSignIn = classified.code === 'CONNECTION_LOST' && !isSignedIn
  const code = closedBeforeSignIn ? 'CONNECTION_CLOSED' : classified.code
  return createDatabaseProblem({ ...classified, code }, config, engine.name, { cause: redactError(error, config) })
}

function classifyError(error: unknown, config: DatabaseConfig, engine: DatabaseEngine): ClassifiedError | undefined {
  return (
    classifyStatementError(error) ??
    engine.classifyError(error, config) ??
    classifyTlsError(error) ??
    classifyNetworkError(error)
  )
}

/** Returns a copy of an error for the log, with its stack and without the password. */
export function redactError(error: unknown, config: DatabaseConfig): Error {
  const redacted = new Error(redactPassword(getErrorMessage(error), config))
  if (error instanceof Error) redacted.stack = redactPassword(error.stack ?? '', config)
  return redacted
}

function classifyStatementError(error: unknown): ClassifiedError | undefined {
  if (error instanceof NoColumnsError) return { code: 'NO_COLUMNS' }
  if (!(error instanceof StatementNotAllowedError)) return undefined
  return { code: 'STATEMENT_NOT_ALLOWED', ...(error.detail !== undefined && { detail: error.detail }) }
}

/** Returns the code, together with the database's message if that helps the user to correct the statement. */
export const classifyWithMessage = (code: DatabaseProblemCode, message: string): ClassifiedError =>
  /^(STATEMENT_INVALID|STATEMENT_FAILED|PERMISSION_DENIED|TABLE_MISSING)$/.test(code)
    ? { code, detail: message }
    : { code }

export type MessagePatterns = readonly (readonly [RegExp, DatabaseProblemCode])[]

export const findCodeByMessage = (patterns: MessagePatterns, message: string): DatabaseProblemCode | undefined =>
  patterns.find(([pattern]) => pattern.test(message))?.[1]

/** Returns the problem code for the first known error code of an error or its causes. */
export const findCodeByErrorCode = (
  problemCodes: Readonly<Record<string, DatabaseProblemCode>>,
  error: unknown,
): DatabaseProblemCode | undefined =>
  listCodes(error)
    .map((errorCode) => problemCodes[errorCode])
    .find((problemCode) => problemCode !== undefined)

/** True if the error is a bug in the code, even if a driver wrapped it in its own error. */
function isBug(error: unknown): boolean {
  const bugClasses = [TypeError, ReferenceError, RangeError, SyntaxError]
  return listCauses(error).some((cause) => bugClasses.some((bugClass) => cause instanceof bugClass))
}

const problemCodesBySystemError: Record<string, DatabaseProblemCode> = {
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
  // Node throws these errors for writes to a broken connection.
  ERR_STREAM_DESTROYED: 'CONNECTION_LOST',
  ERR_STREAM_WRITE_AFTER_END: 'CONNECTION_LOST',
  ERR_STREAM_PREMATURE_CLOSE: 'CONNECTION_LOST',
  ERR_SOCKET_CLOSED: 'CONNECTION_LOST',
  EHOSTDOWN: 'CONNECTION_TIMEOUT',
  ENETDOWN: 'CONNECTION_TIMEOUT',
  // A local firewall causes these errors.
  EACCES: 'CONNECTION_REFUSED',
  EPERM: 'CONNECTION_REFUSED',
}

function classifyNetworkError(error: unknown): ClassifiedError | undefined {
  const code = findCodeByErrorCode(problemCodesBySystemError, error)
  return code && { code }
}

const certificateErrorPattern = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|ALTNAME|HOSTNAME_MISMATCH/

function classifyTlsError(error: unknown): ClassifiedError | undefined {
  if (listCodes(error).some((code) => certificateErrorPattern.test(code)))
    return { code: 'CERTIFICATE_NOT_TRUSTED', detail: getErrorMessage(error) }
  if (listCodes(error).some((code) => /^ERR_SSL|^EPROTO$/.test(code)))
    return { code: 'OTHER_PROTOCOL', detail: getErrorMessage(error) }
  return undefined
}

/** Returns the codes of an error and its causes. An error without a code has an empty one. */
export function listCodes(error: unknown): string[] {
  return listCauses(error).map(getErrorCode)
}

/** Returns an error and its causes, at most ten, the outermost first. */
export function listCauses(error: unknown): Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < 10; cause = getErrorCause(cause)) causes.push(cause)
  return causes
}

function getErrorCode(error: Error): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

const getErrorCause = (error: Error): unknown => error.cause ?? (error as { originalError?: unknown }).originalError

export function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Redacts the password, but only as a whole word: redacting `src` inside `srcdb` would reveal it. Does not redact a
 * password of one or two characters, or one that equals the host, database or username, which the pipeline shows
 * anyway.
 */
function redactPassword(message: string, { password, host, database, username }: DatabaseConfig): string {
  const isPublic = [host, database, username].some((name) => name.toLowerCase() === password.toLowerCase())
  if (password.length < 3 || isPublic) return message
  return message.replaceAll(new RegExp(wholeWords(password), 'gu'), '[redacted]')
}
