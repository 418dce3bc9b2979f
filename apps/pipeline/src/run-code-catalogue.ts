import { warehouseRefusals } from './problem-catalogue.ts'

/** Run codes on one subject. `codes` maps each code to the text of docs/problems.md: what happened, and what to do next. */
export interface RunCodeGroup {
  title: string
  codes: Readonly<Record<string, string>>
}

/** Every value of `errorCode` of a failed run. Connection tests, previews and look-ups fail for the same reasons. */
export const runCodes: readonly RunCodeGroup[] = [
  {
    title: 'Connection',
    codes: {
      ADDRESS_INVALID: 'The address is invalid. Check it, and the variables used in it.',
      ADDRESS_NOT_ALLOWED:
        'The address is in a private network that the operator has not allowed. Ask the operator to add it to `OUTGOING_ALLOWED`.',
      HOST_UNKNOWN: 'The host name could not be resolved. Check its spelling.',
      CONNECTION_REFUSED:
        'The host refused the connection or cannot be reached. Check the address, the port and the firewall.',
      CONNECTION_TIMEOUT: 'The server did not answer in time. Check that it is running.',
      CONNECTION_CLOSED:
        'The database closed the connection before sign-in. Check that it is ready and accepts connections from this server.',
      CONNECTION_LOST:
        'The connection was interrupted. Run again; if it happens often, check the network between both servers.',
      TOO_MANY_CONNECTIONS: 'The database has reached its connection limit. Run again later, or raise the limit.',
      CERTIFICATE_NOT_TRUSTED:
        'The TLS certificate does not match the host name or was not issued by a trusted authority. Install a valid certificate on the server.',
      TLS_NOT_OFFERED: 'The database does not support encrypted connections. Enable TLS there, or turn off `ssl`.',
      TLS_REQUIRED: 'The database accepts only encrypted connections. Turn on `ssl`.',
      REDIRECTED:
        'The server redirects to another host, and credentials are not sent there. If that host is right, enter its address.',
      OTHER_PROTOCOL: 'The server speaks a different protocol. Check the address and the port.',
    },
  },
  {
    title: 'Responses of sources and targets',
    codes: {
      CREDENTIALS_MISSING: 'The credentials are missing. Enter a username and password, or a token.',
      AUTHENTICATION_FAILED: 'The server rejected the credentials; they may have expired. Enter them again.',
      PERMISSION_DENIED: 'The account lacks a permission. Grant it there, or use another account.',
      KEY_NOT_READABLE: 'The object key contains a folder named `.` or `..`. Copy the object to another key.',
      CLOCK_WRONG:
        'The clocks of this server and the object store differ too much. Ask the operator to synchronise them.',
      NOT_FOUND:
        'The selected object does not exist, or the account cannot see it. Select another object, or check the account.',
      DATABASE_MISSING: 'The database does not exist. Check its name.',
      BUCKET_MISSING: 'The bucket does not exist. Check its name and the endpoint.',
      CONTAINER_MISSING: 'The container does not exist. Check its name and the account.',
      OTHER_REGION: 'The bucket is in another region. Correct the region.',
      REGION_MISSING: 'The function has no region. Enter its region, or use its ARN.',
      PROJECT_MISSING: 'Forms are listed per project. Select a project first.',
      NOT_SUPPORTED:
        'The file or expression uses a feature that this version does not support. The message names the feature.',
      TYPE_NOT_SUPPORTED:
        'This version does not support this pipeline type. The pipeline is kept for a version that does.',
      VIEW_WRONG: 'The SQL on FHIR view definition is invalid. The message says where.',
      RATE_LIMITED: "The server's rate limit asks for a longer pause than a run can wait. Load less often.",
      REQUEST_REFUSED: "The server rejected the request. The message contains the server's answer.",
      SOURCE_FAILED: 'The server returned an internal error. Check its log.',
      SOURCE_SILENT:
        'The source sent nothing for `SOURCE_SILENCE_SECONDS`, so the run was stopped. Check the source, or raise the setting.',
      ANSWER_TOO_LARGE: 'The response exceeds the size limit. Select fewer records or fields.',
      MESSAGE_TOO_LONG:
        'A row or message from the database exceeds the size limit. Leave out large columns, or shorten them in a query.',
      STATEMENT_INVALID: 'The database could not parse the query. Correct the query.',
      STATEMENT_NOT_ALLOWED: 'Only a single query that reads is allowed. Remove everything else.',
      STATEMENT_FAILED: "The query failed in the database. The message contains the database's error.",
      TARGET_BUSY: 'The rate limit of DHIS2 asks for a longer pause than a run can wait. Run again later.',
      TARGET_TIMEOUT:
        'DHIS2 did not answer in time, even with fewer values per request. Check its load, then run again.',
      TARGET_FAILED: 'DHIS2 returned an internal error. Check its log.',
      TARGET_REFUSED: 'DHIS2 rejected the import. The message contains its answer.',
      TOO_LARGE:
        'The request or the unpacked file exceeds the size limit. Load it in parts, or raise the limit of the DHIS2 proxy.',
      VIEW_NOT_FILLED: 'The materialised view has no data yet. Run the view, then push it again.',
      COLUMN_MISSING: "The view lacks a column that DHIS2 needs. The message names it; add it to the view's query.",
      COLUMN_TWICE: 'Two columns of the view map to the same DHIS2 field. Remove or rename one.',
      ALL_ROWS_REJECTED: 'DHIS2 rejected every value. See the rejected rows for the reasons.',
    },
  },
  {
    title: 'Files and records',
    codes: {
      FILE_MISSING: 'The pipeline has no file. Upload one, then run again.',
      FILE_CHANGED: 'The file changed while it was being read. Run again.',
      FILE_DAMAGED: 'The file is damaged or truncated. Upload it again.',
      FILE_TOO_DENSE: 'The Parquet file exceeds the decompression limit. Write it in smaller files.',
      EMPTY_FILE: 'The file is empty. Upload a file with rows.',
      LINES_ALL_SKIPPED: 'The option `skipLines` skips every line of the file. Choose a smaller number.',
      EMPTY_SOURCE:
        'The source has no records, so its columns are unknown. The previous data was kept; run again when there are records.',
      ENCODING_NOT_KNOWN:
        'The text encoding is not supported or cannot be detected. Save the file as UTF-8, or select the encoding.',
      ENCODING_NOT_SUPPORTED: 'The text encoding is not supported. Save the file as UTF-8.',
      OPTIONS_NOT_USABLE: 'The file options contradict each other. The message names them.',
      HEADER_NOT_READABLE:
        'The first row does not contain valid column names. Correct it, or set the option for files without a header.',
      NOT_CSV: 'The file is not delimited text. Export it as CSV, or use the pipeline type of its format.',
      NO_READABLE_ROW: 'No row matches the columns. Check the delimiter, the quote character and the header.',
      NOTHING_TO_READ:
        'Nothing is selected to read. Select a table, or enter a query; a Parquet file needs a column of a supported type.',
      NOT_PARQUET: 'The file is not Parquet. Upload a Parquet file, or use the pipeline type of its format.',
      PARQUET_ENCRYPTED: 'The Parquet file is encrypted. Write it without encryption.',
      PARQUET_NOT_SUPPORTED:
        'The Parquet file uses a feature that this version does not support. The message names the feature.',
      FILE_EMPTY: 'The Parquet file is empty or has no columns. Upload a file with rows.',
      PARQUET_UPLOADED: 'The file is Parquet. Use a pipeline of type `PARQUET_UPLOAD`.',
      OLD_EXCEL: 'The file is in the `.xls` format of Excel 2003 or earlier. Save it as `.xlsx`.',
      EXCEL_DAMAGED: 'The workbook is damaged. Open it in Excel and save it again.',
      EXCEL_PROTECTED: 'The workbook is protected by a password. Save it without one.',
      EXCEL_TOO_MANY_TEXTS: 'The workbook has more distinct texts than the limit. Save it as CSV.',
      SHEET_NOT_FOUND: 'The workbook has no sheet of this name. The message lists its sheets.',
      SHEET_EMPTY: 'The selected sheet has no rows, but another sheet does. Select that sheet.',
      RANGE_INVALID: 'The cell range is invalid. Use the form `A1:F500`.',
      JSON_BROKEN: 'The JSON is invalid or truncated. The message says where.',
      JSON_NOT_ROWS: 'The JSON contains no array of objects. Provide one object per row.',
      JSON_AMBIGUOUS: 'The JSON contains several arrays. Set `rowsUnder` to the key that holds the rows.',
      ROWS_KEY_NOT_SET:
        'The only array in the JSON is empty, so it may not be the one with the rows. If it is, set `rowsUnder` to its key.',
      ROWS_NOT_FOUND: 'The JSON has no array of objects under the selected key. Check the key.',
      RECORD_TOO_LONG: 'A record exceeds the size limit. The message says which one.',
      ARCHIVE_DAMAGED: 'The archive is damaged. Create it again.',
      ARCHIVE_EMPTY: 'The archive contains no supported file. Add the file with the rows.',
      ARCHIVE_ENCRYPTED: 'The archive is encrypted. Upload it without a password.',
      ARCHIVE_NESTED: 'The archive contains another archive. Unpack it once and upload its content.',
      ARCHIVE_TOO_MANY_ENTRIES: 'The archive contains more files than the limit. Upload fewer files.',
      SUSPICIOUS_ARCHIVE:
        'The archive was refused: it expands beyond the limit, or a file name points outside of it. Create it again.',
      ENTRY_NOT_FOUND: 'The archive does not contain the selected file. Check its name.',
      ENTRY_AMBIGUOUS: 'The archive contains several files. Select one.',
      NO_OBJECTS: 'No object with rows matches the key. The previous data was kept; check the key.',
      TOO_MANY_OBJECTS: 'More objects match the key pattern than one run can load. Narrow the pattern.',
      PATTERN_INVALID: 'The key pattern is invalid. Check it, and the variables used in it.',
      PATTERN_TOO_LARGE: 'The key pattern expands to too many keys. Use `*` instead of braces.',
      OBJECT_MISSING: 'The object does not exist. Check the key.',
      OBJECT_ARCHIVED: 'The object is in an archive storage tier. Restore it, then run again.',
      OBJECT_CHANGED: 'The object changed while it was being read. The previous data was kept; run again.',
      OBJECT_TOO_LARGE: 'The object exceeds the size limit. Write several smaller objects.',
      PREVIEW_TOO_LARGE: 'The file is too large to preview. Run the pipeline instead.',
      DATASET_MISSING: 'The public dataset no longer exists. Select another.',
      DATASET_NOT_LOADED: 'The public dataset has no rows yet. Try again later.',
    },
  },
  {
    title: 'Load',
    codes: {
      TOO_MANY_REJECTED_ROWS:
        'Too many rows were rejected, so the previous data was kept. See the rejected rows for the reasons.',
      TOO_MANY_TABLES:
        'The records contain more repeat groups than one load can turn into tables. Select fewer groups.',
      DUPLICATE_TABLE: 'The source returned two tables with the same name. Rename one of them.',
      SCHEMA_MISMATCH:
        'The columns or rows differ too much from the last load, so the previous data was kept. The message lists the differences; run with `rebuild` to accept them.',
      DATES_AMBIGUOUS:
        'Day and month of the new dates are ambiguous, and the column is not text. Set `dateFormat`, or write the dates as YYYY-MM-DD.',
      DATE_ORDER_CHANGED:
        'Day and month are in another order than in the table. Write the dates as before, or set `dateFormat`.',
      DECIMAL_SIGN_CHANGED:
        'The numbers have another decimal sign than in the last file. Write them as before, or set `decimal`.',
      TYPES_NOT_SETTLED:
        'The column types changed each time the source was read, so the previous data was kept. Set the types of the columns that the message names.',
      TABLE_TAKEN: 'The table name is used by another pipeline or view. Rename one of them.',
      TRANSFORMATION_FAILED:
        'A transformation statement failed, so the previous data was kept. The message contains the statement and the error.',
      DATA_QUALITY_FAILED:
        'A data quality check found violations or could not run. If the check gates a table, the previous data was kept.',
      NO_PRIMARY_KEY:
        'Incremental loads need a primary key. Mark the columns that identify a row, or replace the table in full.',
      VARIABLE_UNKNOWN: 'The variable does not exist. Create it, or correct its name.',
      VARIABLE_MISPLACED:
        'The variable is used where a value is not allowed. Remove the quotes around it, or use `${name:identifier}` for a name.',
      SECRET_FOR_OTHER_ADDRESS:
        'A variable changed the address for which the password or token was stored. If the new address is right, save the object again with the secret.',
      CLIENT_DISABLED:
        'The organisation is disabled, or its pipelines are switched off. Ask a super admin to enable them.',
      RUN_TOO_LONG: 'The run exceeded 23.5 hours and was stopped. Load less data at once.',
      TOO_MANY_ATTEMPTS: 'The worker crashed on every attempt of this run. See the worker log; more memory may help.',
      SPOOL_NOT_WRITABLE: 'The disk for files is full or read-only. Ask the operator to free space.',
      DATABASE_UNAVAILABLE: 'The database of the pipeline service cannot be reached. Ask the operator to check it.',
      SECRET_KEY_MISSING:
        'A stored secret is encrypted with a key that the service does not have. Ask the operator to add the key to `SECRET_KEYS`.',
      INTERNAL_ERROR: 'Internal error. See the worker log for the id of this run.',
    },
  },
  {
    title: 'Warehouse',
    codes: {
      WAREHOUSE_UNAVAILABLE: 'The warehouse cannot be reached. Ask the operator to check it.',
      WAREHOUSE_BUSY: 'Other statements hold locks in the warehouse. Run again later.',
      TABLE_BUSY: 'Long-running queries blocked the table. End them, or run again later.',
      ...warehouseRefusals,
    },
  },
]

const perRequest = 'request'
const perRun = 'run'

/** What is repeated after a failure with one of these codes. A run with any other code fails at once. */
export const retriesByRunCode: Readonly<Record<string, string>> = {
  HOST_UNKNOWN: perRequest,
  CONNECTION_REFUSED: perRequest,
  CONNECTION_TIMEOUT: perRequest,
  CONNECTION_LOST: perRequest,
  RATE_LIMITED: perRequest,
  SOURCE_FAILED: perRequest,
  TARGET_BUSY: perRequest,
  TARGET_TIMEOUT: perRequest,
  TARGET_FAILED: perRequest,
  DATABASE_UNAVAILABLE: perRun,
  WAREHOUSE_BUSY: perRun,
  TABLE_BUSY: perRun,
  WAREHOUSE_UNAVAILABLE: 'run, for a day',
}
