import type { DatabaseConfig } from '../database-connector/database-config.ts'
import {
  listCodes,
  findCodeByMessage,
  type MessagePatterns,
  getErrorMessage,
  classifyWithMessage,
} from '../database-connector/database-problems.ts'
import type { DatabaseProblemCode, ClassifiedError } from '../database-connector/database-session.ts'
import { UnexpectedFormat } from './copy-out.ts'

const problemCodesByState: Record<string, DatabaseProblemCode> = {
  '28P01': 'AUTHENTICATION_FAILED',
  '28000': 'AUTHENTICATION_FAILED',
  '3D000': 'DATABASE_MISSING',
  '53300': 'TOO_MANY_CONNECTIONS',
  '57P03': 'CONNECTION_REFUSED',
  '57P01': 'CONNECTION_LOST',
  '57P02': 'CONNECTION_LOST',
  '42501': 'PERMISSION_DENIED',
  '42P01': 'TABLE_MISSING',
  '42703': 'TABLE_MISSING',
  '3F000': 'TABLE_MISSING',
  '42601': 'STATEMENT_INVALID',
  '25006': 'STATEMENT_NOT_ALLOWED',
}

const invalidAuthorization = '28000'

const postgresMessagePatterns: MessagePatterns = [
  [/does not support SSL/, 'TLS_NOT_OFFERED'],
  [/error establishing an SSL connection|not its protocol/, 'OTHER_PROTOCOL'],
  [/timeout expired|due to connection timeout/, 'CONNECTION_TIMEOUT'],
  [/SASL|password must be a string|unsupported authentication/i, 'AUTHENTICATION_FAILED'],
  [/Connection terminated|(closed and|connection error and) is not queryable/, 'CONNECTION_LOST'],
  [/^Received unexpected \w+ message|^received invalid response|^Unknown authenticationOk/, 'OTHER_PROTOCOL'],
]

/** Returns the problem code for an error of the server or the driver. Returns undefined for any other error. */
export function classifyPostgresError(error: unknown, { ssl }: DatabaseConfig): ClassifiedError | undefined {
  const message = getErrorMessage(error)
  // A SQLSTATE has five characters. Some codes of Node.js, such as EPIPE, also have five.
  const state = listCodes(error).find((code) => /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]+$/.test(code))
  if (state === undefined) {
    const code = findCodeByMessage(postgresMessagePatterns, message)
    if (code === undefined && error instanceof UnexpectedFormat) return { code: 'STATEMENT_FAILED', detail: message }
    return code && { code }
  }
  // These errors have the same SQLSTATE for different reasons. Only the texts "no encryption" and "SSL off" show that
  // the server requires TLS.
  const requiresTls = state === invalidAuthorization && !ssl && /no encryption|SSL off/.test(message)
  if (requiresTls) return { code: 'TLS_REQUIRED' }
  return classifyWithMessage(problemCodesByState[state] ?? 'STATEMENT_FAILED', message)
}
