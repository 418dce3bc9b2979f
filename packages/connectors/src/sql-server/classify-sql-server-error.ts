import mssql from 'mssql'
import type { DatabaseConfig } from '../database-connector/database-config.ts'
import {
  listCauses,
  listCodes,
  findCodeByMessage,
  type MessagePatterns,
  getErrorMessage,
  classifyWithMessage,
} from '../database-connector/database-problems.ts'
import type { DatabaseProblemCode, ClassifiedError } from '../database-connector/database-session.ts'

const problemCodesByNumber: Record<number, DatabaseProblemCode> = {
  18456: 'AUTHENTICATION_FAILED',
  18452: 'AUTHENTICATION_FAILED',
  18486: 'AUTHENTICATION_FAILED',
  18487: 'AUTHENTICATION_FAILED',
  18488: 'AUTHENTICATION_FAILED',
  4060: 'DATABASE_MISSING',
  911: 'DATABASE_MISSING',
  916: 'PERMISSION_DENIED',
  229: 'PERMISSION_DENIED',
  230: 'PERMISSION_DENIED',
  297: 'PERMISSION_DENIED',
  208: 'TABLE_MISSING',
  207: 'TABLE_MISSING',
  102: 'STATEMENT_INVALID',
  105: 'STATEMENT_INVALID',
  156: 'STATEMENT_INVALID',
  1033: 'STATEMENT_INVALID',
  17809: 'TOO_MANY_CONNECTIONS',
  10928: 'TOO_MANY_CONNECTIONS',
}

const sqlServerMessagePatterns: MessagePatterns = [
  [/self-signed|certificate|altnames/i, 'CERTIFICATE_NOT_TRUSTED'],
  [/ENOTFOUND|EAI_AGAIN/, 'HOST_UNKNOWN'],
  [/ECONNREFUSED/, 'CONNECTION_REFUSED'],
  [/ETIMEDOUT|Failed to connect.*in \d+ms/, 'CONNECTION_TIMEOUT'],
  [/no encryption is offered/, 'TLS_NOT_OFFERED'],
  [/requires encryption|EENCRYPT/, 'TLS_REQUIRED'],
  [/unexpected message|unknown type|token|packet/i, 'OTHER_PROTOCOL'],
  [/Connection lost|socket hang up|ECONNRESET|Connection is closed|closed/i, 'CONNECTION_LOST'],
]

const connectionErrorPattern = /^(ESOCKET|EENCRYPT|ECONNCLOSED|ENOTOPEN|EINSTLOOKUP|EABORT)$/

/** Returns the problem code for an error of the server or the driver. Returns undefined for any other error. */
export function classifySqlServerError(error: unknown, _config: DatabaseConfig): ClassifiedError | undefined {
  const message = getErrorMessage(error)
  const errorNumber = listErrorNumbers(error).find((number) => problemCodesByNumber[number] !== undefined)
  if (errorNumber !== undefined) return classifyWithMessage(problemCodesByNumber[errorNumber]!, message)
  const codes = listCodes(error)
  // For a rejected login, the driver keeps only the server's message and not its error number.
  if (codes.includes('ELOGIN') && /cannot open database/i.test(message)) return { code: 'DATABASE_MISSING' }
  if (codes.includes('ELOGIN')) return { code: 'AUTHENTICATION_FAILED', detail: message }
  if (codes.includes('ETIMEOUT')) return { code: 'CONNECTION_TIMEOUT' }
  const isConnectionError = codes.some((code) => connectionErrorPattern.test(code))
  if (!isConnectionError)
    return isDriverOrServerError(error) ? { code: 'STATEMENT_FAILED', detail: message } : undefined
  const code = findCodeByMessage(sqlServerMessagePatterns, [message, ...codes].join(' ')) ?? 'CONNECTION_LOST'
  return code === 'CERTIFICATE_NOT_TRUSTED' ? { code, detail: message } : { code }
}

/**
 * True if the driver or the server raised the error. A driver error is an `MSSQLError`. A server error has the code
 * EREQUEST and a number greater than 0.
 */
function isDriverOrServerError(error: unknown): boolean {
  if (error instanceof mssql.MSSQLError) return true
  return listCodes(error).includes('EREQUEST') && listErrorNumbers(error).some((number) => number > 0)
}

/** Returns the server's error numbers of an error and its causes. The number is 0 for an error without one. */
function listErrorNumbers(error: unknown): number[] {
  return listCauses(error).map((cause) => ('number' in cause && typeof cause.number === 'number' ? cause.number : 0))
}
