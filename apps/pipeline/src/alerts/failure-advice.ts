import { runCodes } from '../problems/run-error-codes.ts'
import type { AlertContent } from './alert.ts'

const oldRowsKept = 'The rows of the last good run are still there.'

const checkSettings = 'Check the address and the account in its settings, test the connection, then run it again.'
const checkFile = `Correct the file or its format settings, then run it again. ${oldRowsKept}`
const waitForNextRun =
  'The cause may be temporary: the next scheduled run tries again. If it fails again, check its cause.'

/** Advice by error code. Codes without an entry get the advice of their group, from `adviceByGroup`. */
const adviceByCode: Readonly<Record<string, string>> = {
  AUTHENTICATION_FAILED: 'Enter the current user name and password or token in its settings, then run it again.',
  CREDENTIALS_MISSING: 'Enter the user name and password or token in its settings, then run it again.',
  PERMISSION_DENIED: 'Ask the administrator of the source for the missing right, then run it again.',
  ADDRESS_NOT_ALLOWED: 'Ask the operator of this service to add the address to OUTGOING_ALLOWED, then run it again.',
  FILE_MISSING: 'Upload the file, then run it again.',
  EMPTY_FILE: `Upload a file with rows, then run it again. ${oldRowsKept}`,
  TOO_MANY_REJECTED_ROWS: `Look at the rejected rows, correct them in the source, then run it again. ${oldRowsKept}`,
  SCHEMA_MISMATCH: `Check that the source is the right one. To accept its new columns, run it once with "rebuild": true, which replaces all rows of the table. ${oldRowsKept}`,
  DATA_QUALITY_FAILED: 'Look at the result of the checks, correct the data at its source, then run it again.',
  TRANSFORMATION_FAILED: `Correct the statement that the message names, then run it again. ${oldRowsKept}`,
  CLIENT_DISABLED: 'Ask the administrator of this service to enable your organisation and its pipelines.',
  SPOOL_NOT_WRITABLE: 'Ask the operator of this service to free space on the disk for files, then run it again.',
  SECRET_KEY_MISSING:
    'Ask the operator of this service to add the missing key to SECRET_KEYS (the message contains its id), then run it again.',
  INTERNAL_ERROR: `Send the run id below to the operator of this service. ${oldRowsKept}`,
  TOO_MANY_ATTEMPTS: `Send the run id below to the operator of this service. ${oldRowsKept}`,
  READER_ENDED: waitForNextRun,
  RATE_LIMITED: waitForNextRun,
  SOURCE_FAILED: waitForNextRun,
  SOURCE_SILENT: waitForNextRun,
  CONNECTION_LOST: waitForNextRun,
  CONNECTION_TIMEOUT: waitForNextRun,
  TARGET_BUSY: waitForNextRun,
  TARGET_TIMEOUT: waitForNextRun,
  TARGET_FAILED: waitForNextRun,
  DATABASE_UNAVAILABLE: waitForNextRun,
  WAREHOUSE_UNAVAILABLE: waitForNextRun,
  WAREHOUSE_BUSY: waitForNextRun,
  TABLE_BUSY: waitForNextRun,
}

const adviceByGroup: Readonly<Record<string, string>> = {
  Connection: checkSettings,
  'Responses of sources and targets': checkSettings,
  'Files and records': checkFile,
}

const generalAdvice = 'Correct the cause that the message names, then run it again.'

/**
 * Returns one or two sentences that state what the recipient of an alert should do. Recipients know what the pipeline
 * is for, not how it works.
 */
export function getAlertAdvice({ event, kind, errorCode }: Pick<AlertContent, 'event' | 'kind' | 'errorCode'>): string {
  switch (event) {
    case 'RECOVERED':
      return 'There is nothing to do.'
    case 'WARNING':
      return kind === 'DATA_PIPELINE'
        ? 'The rows were loaded. Look at the log and the rejected rows of the run, and correct these rows in the source.'
        : 'Look at the run, and correct the cause that its message names.'
    case 'NO_SUCCESS':
      return 'Look at its last runs and correct the cause that their messages name. If no run was started, check its schedule and ask the operator of this service whether a worker is running.'
    default:
      return getFailureAdvice(kind, errorCode)
  }
}

function getFailureAdvice(kind: AlertContent['kind'], code: string | null): string {
  if (kind === 'WORKFLOW')
    return 'Look at the failed jobs of the run and correct their causes, then run the workflow again.'
  if (code === null) return generalAdvice
  const group = runCodes.find(({ codes }) => code in codes)?.title
  return adviceByCode[code] ?? (group && adviceByGroup[group]) ?? generalAdvice
}
