import type { DatabaseConfig } from '../database-connector/database-config.ts'
import {
  listCodes,
  findCodeByMessage,
  type MessagePatterns,
  getErrorMessage,
} from '../database-connector/database-problems.ts'
import type { DatabaseProblemCode, ClassifiedError } from '../database-connector/database-session.ts'

const problemCodesByOracleCode: Record<string, DatabaseProblemCode> = {
  'ORA-01017': 'AUTHENTICATION_FAILED',
  'ORA-28000': 'AUTHENTICATION_FAILED',
  'ORA-28001': 'AUTHENTICATION_FAILED',
  'ORA-01045': 'AUTHENTICATION_FAILED',
  'NJS-116': 'AUTHENTICATION_FAILED',
  'ORA-12514': 'DATABASE_MISSING',
  'ORA-12505': 'DATABASE_MISSING',
  'NJS-518': 'DATABASE_MISSING',
  'ORA-12516': 'TOO_MANY_CONNECTIONS',
  'ORA-12519': 'TOO_MANY_CONNECTIONS',
  'ORA-00018': 'TOO_MANY_CONNECTIONS',
  'ORA-00020': 'TOO_MANY_CONNECTIONS',
  'ORA-01031': 'PERMISSION_DENIED',
  'ORA-41900': 'PERMISSION_DENIED',
  'ORA-00942': 'TABLE_MISSING',
  'ORA-00904': 'TABLE_MISSING',
  'ORA-00900': 'STATEMENT_INVALID',
  'ORA-00933': 'STATEMENT_INVALID',
  'ORA-00936': 'STATEMENT_INVALID',
  'ORA-00923': 'STATEMENT_INVALID',
  'ORA-01456': 'STATEMENT_NOT_ALLOWED',
  'ORA-03113': 'CONNECTION_LOST',
  'ORA-03114': 'CONNECTION_LOST',
  'ORA-03135': 'CONNECTION_LOST',
  'NJS-500': 'CONNECTION_LOST',
  'NJS-501': 'CONNECTION_LOST',
  'NJS-503': 'CONNECTION_REFUSED',
  'NJS-506': 'CERTIFICATE_NOT_TRUSTED',
  'NJS-507': 'CERTIFICATE_NOT_TRUSTED',
  'NJS-508': 'CERTIFICATE_NOT_TRUSTED',
  'NJS-510': 'CONNECTION_TIMEOUT',
  'NJS-511': 'CONNECTION_REFUSED',
  'NJS-519': 'DATABASE_MISSING',
  'NJS-521': 'CONNECTION_LOST',
  'NJS-138': 'OTHER_PROTOCOL',
}

const redirectErrorStart = 'the database redirects its clients to'

/** Creates the error for a redirect to a host that is not allowed. */
export const createRedirectError = (host: string): Error =>
  new Error(`${redirectErrorStart} ${host}, which is not an allowed address`)

const oracleMessagePatterns: MessagePatterns = [
  [new RegExp(redirectErrorStart), 'ADDRESS_NOT_ALLOWED'],
  [/ECONNREFUSED/, 'CONNECTION_REFUSED'],
  [/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|timed? ?out/i, 'CONNECTION_TIMEOUT'],
  [/ENOTFOUND|EAI_AGAIN/, 'HOST_UNKNOWN'],
  [/EPROTO|SSL routines|wrong version number|before secure TLS/i, 'TLS_NOT_OFFERED'],
  [/packet/i, 'OTHER_PROTOCOL'],
  [/certificate|authoriz/i, 'CERTIFICATE_NOT_TRUSTED'],
  [/ECONNRESET|EPIPE|closed|end-of-file|hang up/i, 'CONNECTION_LOST'],
]

/**
 * Thrown for a name in the settings with characters that have a special meaning for the driver. `code` is the problem
 * code.
 */
export class UnsupportedName extends Error {
  override readonly name = 'UnsupportedName'
  readonly code: 'HOST_UNKNOWN' | 'DATABASE_MISSING'

  constructor(code: UnsupportedName['code']) {
    super('unsupported name')
    this.code = code
  }
}

/** Returns the problem code for an error of the server or the driver. Returns undefined for any other error. */
export function classifyOracleError(error: unknown, _config: DatabaseConfig): ClassifiedError | undefined {
  if (error instanceof UnsupportedName) return { code: error.code }
  const message = getErrorMessage(error)
  const oracleCode = findOracleCode(error)
  // Network errors that the driver passes on have a code of the operating system or of TLS, not of the driver.
  const hasSystemCode = listCodes(error).some((code) => code !== '')
  const isRedirect = message.startsWith(redirectErrorStart)
  if (oracleCode === undefined && !hasSystemCode && !isRedirect) return undefined
  const code = findProblemCode(oracleCode, message)
  if (code === undefined) return oracleCode === undefined ? undefined : { code: 'STATEMENT_FAILED', detail: message }
  const isMessageHelpful = /^(STATEMENT|PERMISSION|TABLE|CERTIFICATE|OTHER|ADDRESS)/.test(code)
  return isMessageHelpful ? { code, detail: message } : { code }
}

/** Returns the error code of the server or the driver, such as `ORA-01017`. */
const findOracleCode = (error: unknown): string | undefined =>
  /^(ORA|NJS|DPI)-\d+/.exec(getErrorMessage(error))?.[0] ?? listCodes(error).find((code) => /^(ORA|NJS)-/.test(code))

function findProblemCode(oracleCode: string | undefined, message: string): DatabaseProblemCode | undefined {
  const problemCode = oracleCode === undefined ? undefined : problemCodesByOracleCode[oracleCode]
  // The driver wraps all network errors in generic ones, so the message of the cause determines the code.
  const isGeneric = problemCode === undefined || /^(CONNECTION|CERTIFICATE)_/.test(problemCode)
  return isGeneric ? (findCodeByMessage(oracleMessagePatterns, message) ?? problemCode) : problemCode
}
