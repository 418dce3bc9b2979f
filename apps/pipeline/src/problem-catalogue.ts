import type { KnownProblem } from '@sluice/http'

/** Returns the title of the problem for a code of `WarehouseProblem`. */
export const refusalTitle = (code: string): string =>
  code === 'NOTHING_TO_RESTORE' ? 'There is nothing to restore.' : 'The warehouse refused.'

/** What the warehouse refuses, by the codes of `WarehouseProblem`; runs and logs carry them in capitals. */
export const warehouseRefusals: Readonly<Record<string, string>> = {
  WAREHOUSE_REFUSED: 'The warehouse refuses for a reason that has no code of its own: `detail` has its words.',
  WAREHOUSE_ACCESS_DENIED: "The warehouse does not take the password of the client's role: an operator's business.",
  WAREHOUSE_FORBIDDEN: "The client's role in the warehouse may not do this.",
  WAREHOUSE_MISSING: "The client's database is not in the warehouse.",
  WAREHOUSE_NOT_SET_UP:
    "The schema's warehouse is of a kind that this installation does not have. Making such a schema is `refused` instead.",
  NOTHING_TO_RESTORE: 'Nothing is kept of what an earlier load replaced: it is too long ago, or its room was needed.',
  NOT_SUPPORTED_HERE: 'Dry runs and restoring are for schemas in PostgreSQL and ClickHouse.',
  WAREHOUSE_NOT_OURS: 'A database or role of that name was made by something else.',
  WAREHOUSE_OUTDATED: "The client's database is older or newer than this version of the service.",
  SCHEMA_MISSING: 'The schema is not in the warehouse.',
  SCHEMA_NOT_EMPTY: 'The schema still has tables or views.',
  TABLE_MISSING: 'The table was not loaded yet, or was dropped.',
  TABLE_NOT_OURS: 'A table of that name was made by something else.',
  VIEW_NAME_TAKEN: 'Something in the warehouse has the name of the view already.',
  VIEW_READS_ITSELF: 'A view would read itself, at once or through others.',
  VIEW_MISSING: 'The view is not in the warehouse.',
  VIEWS_DEPEND: 'Views depend on the table: drop or change them first.',
  INVALID_NAME: 'A name is not one that the warehouse takes.',
  NO_COLUMNS: 'The source has no columns.',
  TOO_MANY_COLUMNS: 'The source has more columns than a table can have.',
  BAD_VALUE: 'A value does not fit its column.',
  NULL_KEY: 'A row has no value in its primary key.',
  DUPLICATE_KEY: 'Two rows have the same primary key.',
  ROW_TOO_LARGE: 'A row is larger than what is answered at once.',
  DISK_FULL: 'The disk of the warehouse is full: an operator has to make room.',
  QUERY_TIMEOUT: 'The query took longer than it may.',
  QUERY_FAILED: 'A query that somebody wrote failed: `detail` has the words of the warehouse, and where in the query.',
  SQL_NOT_ALLOWED: 'A query is more than one SELECT, or does what a query may not do.',
  TOO_MANY_LOCKS: 'A statement held more than 2,000 locks, one for each table or index that it touches: split it.',
  WAREHOUSE_FULL: 'The warehouse exceeds `CLIENT_WAREHOUSE_LIMIT`.',
  RESULT_TOO_LARGE: 'What a query finds is larger than what is taken at once: narrow it down.',
}

/** The problems that only this service answers. */
export const pipelineProblems: readonly KnownProblem[] = [
  {
    code: 'page-too-large',
    status: 422,
    title: 'The page is too large.',
    when: 'The rows of a page are more than 4 MB: ask for the `pageSize` that `detail` names.',
  },
  {
    code: 'not-saved',
    status: 422,
    title: 'None of the data pipelines was saved.',
    when: 'One or more of a list of data pipelines are wrong: `errors` has what, for each. All of them are saved, or none.',
  },
  {
    code: 'dataset-not-loaded',
    status: 422,
    title: 'The file of the public dataset cannot be loaded.',
    when: 'Loading an uploaded public dataset failed: `detail` says why. A new one is not kept; one that was there keeps its rows.',
  },
  {
    code: 'files-limit-reached',
    status: 422,
    title: 'The files of your organisation have reached their limit.',
    when: 'The upload would exceed `CLIENT_FILES_LIMIT`, which covers the uploaded files of the organisation, uploads under way, and files that are kept for runs: delete unused pipelines, or ask the operator for more.',
  },
  {
    code: 'upload-disk-full',
    status: 503,
    title: 'There is no room for the file.',
    when: 'The disk for uploads is full: an operator has to make room.',
  },
  {
    code: 'upload-disk-not-writable',
    status: 503,
    title: 'The file cannot be written.',
    when: 'The disk for uploads is read-only or denies access: an operator has to look at `FILES_DIRECTORY`.',
  },
  {
    code: 'source-unreadable',
    status: 422,
    title: 'The source cannot be read.',
    when: 'A file is not what it should be, or a database does not let itself be asked this: `detail` says what helps.',
  },
  {
    code: 'preview-needs-whole-file',
    status: 422,
    title: 'The beginning of this file is not enough.',
    when: 'A workbook, an archive, a JSON document or a Parquet file of more than 4 MB was sent to be previewed: upload it to a pipeline first.',
  },
  {
    code: 'variable-unknown',
    status: 422,
    title: 'A variable cannot be used like this.',
    when: 'SQL or a setting names a variable, as `${name}`, that the organisation does not have.',
  },
  {
    code: 'variable-misplaced',
    status: 422,
    title: 'A variable cannot be used like this.',
    when: 'In SQL a variable stands where no value can stand: inside of quotes or as a part of a name.',
  },
  {
    code: 'secret-for-other-address',
    status: 422,
    title: 'A variable cannot be used like this.',
    when: 'A variable leads to another address than a stored password or token was given for: nothing is asked there until the pipeline is saved again with it.',
  },
  ...Object.entries(warehouseRefusals).map(([code, when]) => ({
    code: code.toLowerCase().replaceAll('_', '-'),
    status: 422,
    title: refusalTitle(code),
    when,
  })),
]
