import type { KnownProblem } from '@sluice/http-server'

/** Returns the title of the problem for a code of `WarehouseProblem`. */
export const refusalTitle = (code: string): string =>
  code === 'NOTHING_TO_RESTORE' ? 'There is nothing to restore.' : 'The warehouse rejected the request.'

/**
 * The codes of `WarehouseProblem`, each with its cause and remedy. Runs and logs show the codes in upper case; API
 * problems, in lower case.
 */
export const warehouseRefusals: Readonly<Record<string, string>> = {
  WAREHOUSE_REFUSED: 'The warehouse returned an error for which Sluice has no code. The message contains the error.',
  WAREHOUSE_ACCESS_DENIED: "The warehouse rejected the service's password. Ask the operator to reset it.",
  WAREHOUSE_FORBIDDEN: "The organisation's warehouse role lacks a permission. Ask the operator to grant it.",
  WAREHOUSE_MISSING: "The organisation's warehouse database does not exist. Ask the operator to restore it.",
  WAREHOUSE_NOT_SET_UP: 'This warehouse is not configured. Ask the operator, or select another schema.',
  NOTHING_TO_RESTORE: 'The previous version of the table was already deleted. Load the old data again.',
  NOT_SUPPORTED_HERE:
    'Dry runs and restoring work only in PostgreSQL and ClickHouse, and query plans not in SQL Server and Synapse. Use a schema in a warehouse that supports the request.',
  WAREHOUSE_NOT_OURS: 'Sluice did not create the database or role of this name. Ask the operator to rename it.',
  WAREHOUSE_OUTDATED: 'The warehouse does not match this version of the service. Ask the operator to upgrade.',
  SCHEMA_MISSING: 'The schema does not exist in the warehouse. Create it, or select another.',
  SCHEMA_NOT_EMPTY: 'The schema still contains tables or views. Drop them first.',
  TABLE_MISSING: 'The table does not exist: it was not loaded yet, or it was dropped. Run the pipeline that loads it.',
  TABLE_NOT_OURS: 'A table with this name exists that Sluice did not create. Choose another name.',
  VIEW_NAME_TAKEN: "The view's name is already used in the warehouse. Choose another name.",
  VIEW_READS_ITSELF: 'The view would read itself, directly or through another view. Change its query.',
  VIEW_MISSING: 'The view does not exist in the warehouse. Run the view to create it.',
  VIEWS_DEPEND: 'Views read this table. Change or drop them first.',
  INVALID_NAME: 'The name is not allowed in this warehouse. Choose another name.',
  NO_COLUMNS: 'The source has no columns. Check that it has a header.',
  TOO_MANY_COLUMNS: 'The source has more columns than a table can have. Load fewer columns.',
  BAD_VALUE: 'A value does not fit the type of its column. The message names both.',
  NULL_KEY:
    'A row has no value in a column of the key. For files and objects, the message has the lines. Correct the source, or choose another key.',
  DUPLICATE_KEY:
    'Rows of the load have the same key, or rows of earlier loads have it. The message says which, with the key and, for files and objects, the lines. Correct the source, or choose another key.',
  ROW_TOO_LARGE: 'A row exceeds the size limit of a response. Select fewer columns.',
  DISK_FULL: 'The disk of the warehouse is full. Ask the operator to free or add space.',
  QUERY_TIMEOUT: 'The query exceeded its time limit. Add a filter.',
  QUERY_FAILED: "The query failed. The message contains the warehouse's error and its position in the query.",
  SQL_NOT_ALLOWED: 'The query is more than one `SELECT`, or uses something forbidden. Remove that part.',
  TOO_MANY_LOCKS: 'A statement held more than 2,000 locks, one for each table or index that it uses. Split it.',
  WAREHOUSE_FULL: 'The database exceeds `CLIENT_WAREHOUSE_LIMIT`. Drop tables, or ask the operator to raise it.',
  RESULT_TOO_LARGE: "The query's result exceeds the size limit. Select fewer rows or columns.",
}

/** The problems that only this service returns. */
export const pipelineProblems: readonly KnownProblem[] = [
  {
    code: 'page-too-large',
    status: 422,
    title: 'The page is too large.',
    when: 'The rows of the page exceed 4 MB. Use the `pageSize` given in `detail`.',
  },
  {
    code: 'upload-offset',
    status: 409,
    title: 'The upload has another offset.',
    when: '`Upload-Offset` is not the number of bytes that are stored. Read it with HEAD, and continue there; tus clients do so.',
  },
  {
    code: 'upload-bytes-lost',
    status: 410,
    title: 'Bytes of the upload are lost.',
    when: 'The folder of the service no longer has all bytes of the resumable upload, for example after a restore. The upload was removed: start a new one. If it happens again, ask the operator whether all processes share FILES_DIRECTORY.',
  },
  {
    code: 'upload-expired',
    status: 410,
    title: 'The upload has expired.',
    when: 'No byte of the resumable upload arrived for 72 hours. Start a new one.',
  },
  {
    code: 'tus-version',
    status: 412,
    title: 'This version of tus is not supported.',
    when: 'The header `Tus-Resumable: 1.0.0` is missing, or names another version.',
  },
  {
    code: 'upload-locked',
    status: 423,
    title: 'Another request is working on this upload.',
    when: 'Another request sends bytes of the same resumable upload, or checks the complete file, or the upload was deleted. Try again in a few seconds.',
  },
  {
    code: 'not-exportable',
    status: 422,
    title: 'The rows do not fit into this format.',
    when: 'The format cannot store one of the values, or this many rows or columns; `detail` says which. Request CSV instead.',
  },
  {
    code: 'not-saved',
    status: 422,
    title: 'None of the objects was saved.',
    when: 'At least one object of a bulk save or a configuration is invalid, so none was saved. `errors` lists the errors; correct them and send the request again.',
  },
  {
    code: 'dataset-not-loaded',
    status: 422,
    title: 'The file of the public dataset cannot be loaded.',
    when: 'The uploaded file of a public dataset could not be loaded; `detail` says why. A new dataset is discarded; an existing one keeps its rows.',
  },
  {
    code: 'files-limit-reached',
    status: 422,
    title: 'The files of your organisation have reached their limit.',
    when: 'The upload would exceed `CLIENT_FILES_LIMIT`, which covers uploaded files, uploads in progress and files that are kept for runs. Delete unused pipelines, or ask the operator to raise the limit.',
  },
  {
    code: 'upload-disk-full',
    status: 503,
    title: 'The disk has no space for the file.',
    when: 'The disk for uploads has no space for the file. Ask the operator to free space.',
  },
  {
    code: 'upload-disk-not-writable',
    status: 503,
    title: 'The file cannot be written.',
    when: 'The disk for uploads is read-only or denies access. Ask the operator to check `FILES_DIRECTORY`.',
  },
  {
    code: 'source-unreadable',
    status: 422,
    title: 'The source cannot be read.',
    when: 'The file is invalid, or the source refused the request. `detail` says what to do.',
  },
  {
    code: 'preview-needs-whole-file',
    status: 422,
    title: 'The start of this file is not enough.',
    when: 'Workbooks, archives, JSON and Parquet files can be previewed only up to 4 MB. Upload a larger file to a pipeline first.',
  },
  {
    code: 'variable-unknown',
    status: 422,
    title: 'A variable cannot be used like this.',
    when: 'SQL or a setting uses `${name}`, but the organisation has no variable of that name. Create it, or correct the name.',
  },
  {
    code: 'variable-misplaced',
    status: 422,
    title: 'A variable cannot be used like this.',
    when: 'A variable in SQL is inside quotes or part of a name. Remove the quotes, or use `${name:identifier}` for a name.',
  },
  {
    code: 'secret-for-other-address',
    status: 422,
    title: 'A variable cannot be used like this.',
    when: 'A variable changed the address for which the password or token was stored. If the new address is right, save the object again with the secret.',
  },
  ...Object.entries(warehouseRefusals).map(([code, when]) => ({
    code: code.toLowerCase().replaceAll('_', '-'),
    status: 422,
    title: refusalTitle(code),
    when,
  })),
]
