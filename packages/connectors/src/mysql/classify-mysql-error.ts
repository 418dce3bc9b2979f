import type { DatabaseConfig } from '../database-connector/database-config.ts'
import {
  listCodes,
  findCodeByErrorCode,
  findCodeByMessage,
  type MessagePatterns,
  getErrorMessage,
  classifyWithMessage,
} from '../database-connector/database-problems.ts'
import type { DatabaseProblemCode, ClassifiedError } from '../database-connector/database-session.ts'

const problemCodesByMysqlCode: Record<string, DatabaseProblemCode> = {
  ER_ACCESS_DENIED_ERROR: 'AUTHENTICATION_FAILED',
  ER_ACCESS_DENIED_NO_PASSWORD_ERROR: 'AUTHENTICATION_FAILED',
  ER_HOST_NOT_PRIVILEGED: 'AUTHENTICATION_FAILED',
  ER_HOST_IS_BLOCKED: 'AUTHENTICATION_FAILED',
  ER_NOT_SUPPORTED_AUTH_MODE: 'AUTHENTICATION_FAILED',
  AUTH_SWITCH_PLUGIN_ERROR: 'AUTHENTICATION_FAILED',
  ER_BAD_DB_ERROR: 'DATABASE_MISSING',
  ER_DBACCESS_DENIED_ERROR: 'DATABASE_MISSING',
  ER_CON_COUNT_ERROR: 'TOO_MANY_CONNECTIONS',
  ER_TOO_MANY_USER_CONNECTIONS: 'TOO_MANY_CONNECTIONS',
  ER_USER_LIMIT_REACHED: 'TOO_MANY_CONNECTIONS',
  ER_NO_SUCH_TABLE: 'TABLE_MISSING',
  ER_BAD_FIELD_ERROR: 'TABLE_MISSING',
  ER_TABLEACCESS_DENIED_ERROR: 'PERMISSION_DENIED',
  ER_COLUMNACCESS_DENIED_ERROR: 'PERMISSION_DENIED',
  ER_SPECIFIC_ACCESS_DENIED_ERROR: 'PERMISSION_DENIED',
  ER_PARSE_ERROR: 'STATEMENT_INVALID',
  ER_SYNTAX_ERROR: 'STATEMENT_INVALID',
  ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: 'STATEMENT_NOT_ALLOWED',
  ER_UNSUPPORTED_PS: 'STATEMENT_NOT_ALLOWED',
  ER_SECURE_TRANSPORT_REQUIRED: 'TLS_REQUIRED',
  HANDSHAKE_NO_SSL_SUPPORT: 'TLS_NOT_OFFERED',
  PROTOCOL_CONNECTION_LOST: 'CONNECTION_LOST',
  ER_SERVER_SHUTDOWN: 'CONNECTION_LOST',
  ER_CONNECTION_KILLED: 'CONNECTION_LOST',
  PROTOCOL_SEQUENCE_TIMEOUT: 'CONNECTION_TIMEOUT',
  PROTOCOL_PACKETS_OUT_OF_ORDER: 'OTHER_PROTOCOL',
  PROTOCOL_UNEXPECTED_PACKET: 'OTHER_PROTOCOL',
}

const mysqlMessagePatterns: MessagePatterns = [
  [/in closed state$/, 'CONNECTION_LOST'],
  [/AuthMoreData|AuthPluginMoreData|unknown plugin/, 'AUTHENTICATION_FAILED'],
]

/** Returns the problem code for an error of the server or the driver. Returns undefined for any other error. */
export function classifyMysqlError(error: unknown, { username }: DatabaseConfig): ClassifiedError | undefined {
  const message = getErrorMessage(error)
  if (listCodes(error).includes('HANDSHAKE_SSL_ERROR')) {
    const isCertificateRejected = /cert|signed|altname/i.test(message)
    return { code: isCertificateRejected ? 'CERTIFICATE_NOT_TRUSTED' : 'OTHER_PROTOCOL', detail: message }
  }
  const code = findCodeByErrorCode(problemCodesByMysqlCode, error) ?? findCodeByMessage(mysqlMessagePatterns, message)
  if (code === undefined)
    return isDriverError(error) ? { code: 'STATEMENT_FAILED', detail: removeHexLiterals(message) } : undefined
  return classifyWithMessage(code, removeUser(removeHexLiterals(message), username))
}

/** Replaces the user's name and host, such as `user 'reader'@'10.0.0.7'`, by the words "this user". */
function removeUser(message: string, username: string): string {
  const name = `(?<nameQuote>['\`])${RegExp.escape(username)}\\k<nameQuote>`
  const host = "(?<hostQuote>['`]).*?\\k<hostQuote>"
  return message.replace(new RegExp(`(?:user )?${name}@${host}`, 'g'), 'this user')
}

/**
 * Removes hexadecimal literals from a message, because they contain values of variables. The server truncates the
 * quoted query after 80 characters, so redaction would not recognise a truncated secret.
 */
const removeHexLiterals = (message: string): string => message.replaceAll(/\bX'[0-9a-f]*'?/gi, "X'…'")

/**
 * True if the error comes from the server or the driver. Server errors have a number, even if the driver has no name
 * for it; most of the driver's own errors have a name.
 */
function isDriverError(error: unknown): boolean {
  const { errno, sqlMessage } = error as { errno?: unknown; sqlMessage?: unknown }
  if (typeof sqlMessage === 'string' && typeof errno === 'number') return true
  return listCodes(error).some((code) => /^(ER|PROTOCOL|HANDSHAKE|AUTH|MYSQL)_/.test(code))
}
