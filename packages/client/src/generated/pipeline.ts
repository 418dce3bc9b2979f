// Generated from packages/contracts by "npm run generate".
import type { Operation } from '../operation.ts'

export const schemas = {
  /** List schemas. Needs `ROLE_SEE_SCHEMA`. */
  list: { method: 'get', path: '/schemas' } as Operation<'/schemas', ListQuery, undefined, Schema[], undefined>,
  /** Search schemas. Needs `ROLE_SEE_SCHEMA`. */
  search: { method: 'post', path: '/schemas/search', effect: 'read' } as Operation<'/schemas/search', undefined, SearchRequest, Schema[], undefined>,
  /** Create a schema. Needs `ROLE_MANAGE_SCHEMA`. */
  create: { method: 'post', path: '/schemas' } as Operation<'/schemas', undefined, SchemaBody, Schema, undefined>,
  /** Read a schema. Needs `ROLE_SEE_SCHEMA`. */
  read: { method: 'get', path: '/schemas/:uid' } as Operation<'/schemas/:uid', undefined, undefined, Schema, undefined>,
  /** Replace a schema. Needs `ROLE_MANAGE_SCHEMA`. */
  update: { method: 'put', path: '/schemas/:uid' } as Operation<'/schemas/:uid', undefined, SchemaBody, Schema, undefined>,
  /** Delete a schema. Needs `ROLE_MANAGE_SCHEMA`. */
  delete: { method: 'delete', path: '/schemas/:uid' } as Operation<'/schemas/:uid', undefined, undefined, undefined, undefined>,
  /** Share a schema. Needs `ROLE_MANAGE_SCHEMA`. */
  share: { method: 'put', path: '/schemas/:uid/access' } as Operation<'/schemas/:uid/access', undefined, AccessBody, Schema[], undefined>,
  /** List what the schema reads, and what reads it. While other objects read the schema, it cannot be deleted. Checks and transformations read the tables and views that their SQL names. Needs `ROLE_SEE_SCHEMA`. */
  lineage: { method: 'get', path: '/schemas/:uid/lineage' } as Operation<'/schemas/:uid/lineage', undefined, undefined, Lineage, undefined>,
}

export const settings = {
  /** List settings. Returns all settings. Settings that were never changed have their default values. Needs `ROLE_MANAGE_SETTING`. */
  list: { method: 'get', path: '/settings' } as Operation<'/settings', undefined, undefined, Setting[], undefined>,
  /** Read a setting. Needs `ROLE_MANAGE_SETTING`. */
  read: { method: 'get', path: '/settings/:key' } as Operation<'/settings/:key', undefined, undefined, Setting, undefined>,
  /** Change a setting. Needs `ROLE_MANAGE_SETTING`. */
  update: { method: 'put', path: '/settings/:key' } as Operation<'/settings/:key', undefined, SettingBody, Setting, undefined>,
}

export const variables = {
  /** List variables. Needs `ROLE_SEE_VARIABLE`. */
  list: { method: 'get', path: '/variables' } as Operation<'/variables', ListQuery, undefined, Variable[], undefined>,
  /** Search variables. Needs `ROLE_SEE_VARIABLE`. */
  search: { method: 'post', path: '/variables/search', effect: 'read' } as Operation<'/variables/search', undefined, SearchRequest, Variable[], undefined>,
  /** Create a variable. Needs `ROLE_MANAGE_VARIABLE`. */
  create: { method: 'post', path: '/variables' } as Operation<'/variables', undefined, VariableBody, Variable, undefined>,
  /** Read a variable. Needs `ROLE_SEE_VARIABLE`. */
  read: { method: 'get', path: '/variables/:uid' } as Operation<'/variables/:uid', undefined, undefined, Variable, undefined>,
  /** Replace a variable. Needs `ROLE_MANAGE_VARIABLE`. */
  update: { method: 'put', path: '/variables/:uid' } as Operation<'/variables/:uid', undefined, VariableBody, Variable, undefined>,
  /** Delete a variable. Needs `ROLE_MANAGE_VARIABLE`. */
  delete: { method: 'delete', path: '/variables/:uid' } as Operation<'/variables/:uid', undefined, undefined, undefined, undefined>,
  /** Create or replace variables by name. Saves all variables or none. Other variables stay unchanged. Needs `ROLE_MANAGE_VARIABLE`. */
  save: { method: 'put', path: '/variables' } as Operation<'/variables', undefined, VariableBody[], Variable[], undefined>,
}

export const catalogue = {
  /** Create or replace schemas by name. Saves all schemas or none. Violations point to the schema by its position in the list, as in `/0/name`. Needs `ROLE_MANAGE_SCHEMA`. */
  saveSchemas: { method: 'put', path: '/schemas' } as Operation<'/schemas', undefined, SchemaBody[], Schema[], undefined>,
  /** List the tables of a schema. Returns the tables of the data pipelines and views that the caller may see. Other tables require the permission to see all loaded data. Needs `ROLE_SEE_SCHEMA` or `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  tables: { method: 'get', path: '/schemas/:uid/tables' } as Operation<'/schemas/:uid/tables', TableListQuery, undefined, Table[], undefined>,
  /** List the tables of all schemas. Returns the tables of the data pipelines and views that the caller may see. Other tables require the permission to see all loaded data. Needs `ROLE_SEE_SCHEMA` or `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  allTables: { method: 'get', path: '/tables' } as Operation<'/tables', TableListQuery, undefined, Table[], undefined>,
  /** Find schemas, tables and columns by the first characters of their names. For completion in editors. Returns the tables of the data pipelines and views that the caller may see. Other tables require the permission to see all loaded data. Needs `ROLE_SEE_SCHEMA` or `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  names: { method: 'get', path: '/catalogue/names' } as Operation<'/catalogue/names', CatalogueNamesQuery, undefined, CatalogueNames, undefined>,
  /** Read a table of a schema: columns, keys, rows, size. Needs `ROLE_SEE_SCHEMA` or `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  table: { method: 'get', path: '/schemas/:uid/tables/:name' } as Operation<'/schemas/:uid/tables/:name', undefined, undefined, Table, undefined>,
  /** Describe a table and its columns. A description that the body leaves out stays as it is, and an empty text removes one. Descriptions belong to the names of the table and its columns, so they stay when the table is loaded again. The caller must be allowed to change the data pipeline or view of the table, or its schema. Needs `ROLE_MANAGE_DATA_PIPELINE` or `ROLE_MANAGE_VIEW` or `ROLE_MANAGE_SCHEMA`. */
  describeTable: { method: 'put', path: '/schemas/:uid/tables/:name/descriptions' } as Operation<'/schemas/:uid/tables/:name/descriptions', undefined, TableDescriptionsBody, Table, undefined>,
  /** Read the columns of a table. Distinct values (an estimate), nulls, minimum and maximum are those of the last load. They are absent if the rows have changed since then. For dates and times, minimum and maximum are milliseconds since 1970-01-01T00:00:00Z. Needs `ROLE_SEE_SCHEMA` or `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  columns: { method: 'get', path: '/schemas/:uid/tables/:name/columns' } as Operation<'/schemas/:uid/tables/:name/columns', undefined, undefined, Column[], undefined>,
  /** List what creates a table or view, and what reads it. Returns the tables of the data pipelines and views that the caller may see. Other tables require the permission to see all loaded data. Needs `ROLE_SEE_SCHEMA` or `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  tableLineage: { method: 'get', path: '/schemas/:uid/tables/:name/lineage' } as Operation<'/schemas/:uid/tables/:name/lineage', undefined, undefined, Lineage, undefined>,
  /** Read the rows of a table or view of a schema. Also returns the rows of tables that neither a data pipeline nor a view of Sluice created. Needs `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  tableData: { method: 'get', path: '/schemas/:uid/tables/:name/data' } as Operation<'/schemas/:uid/tables/:name/data', DataQuery, undefined, QueryResult, undefined>,
  /** Read the profile of the loaded rows of a table. The profile has values of the rows, so it needs the same permission as the rows. A load measures it while it reads the rows. Tables have none if the schema does not measure profiles (`profileTables`), if SQL statements of the pipeline changed the rows, and before their first load. Needs `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  tableProfile: { method: 'get', path: '/schemas/:uid/tables/:name/profile' } as Operation<'/schemas/:uid/tables/:name/profile', undefined, undefined, TableProfile, undefined>,
  /** Read the rows that a current or failed run has loaded but not published. Needs `ROLE_SEE_DATA_PIPELINE` or `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  stagingTable: { method: 'get', path: '/data-pipelines/:uid/staging-table' } as Operation<'/data-pipelines/:uid/staging-table', undefined, undefined, Table, undefined>,
}

export const queries = {
  /** Run a query on all loaded data. Runs a query that only reads. The first row must arrive within 28 seconds. The query is cancelled when the connection closes. A response as a file, such as CSV, has all rows, without the limit of JSON responses. The audit log records the caller, the query and the number of rows. Needs `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  run: { method: 'post', path: '/queries', effect: 'read' } as Operation<'/queries', QueryFormat, QueryBody, SqlQueryResult, undefined>,
  /** Show how the warehouse would run a query, without running it. Returns 422 for SQL Server and Azure Synapse, because Sluice cannot read the query plans of these databases. Needs `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  explain: { method: 'post', path: '/queries/explain', effect: 'read' } as Operation<'/queries/explain', undefined, ExplainBody, ExplainedQuery, undefined>,
}

export const views = {
  /** Save several views. Saves all views or none. Each one replaces the view with the same name, or is created if no view has this name. `id` and `client` are ignored, so that you can save an export in another organisation. Violations point to an object by its position in the list. Runs then create or change the views in the warehouse. A query that the warehouse rejects makes its run fail. Needs `ROLE_MANAGE_VIEW`. */
  saveMany: { method: 'post', path: '/views/bulk' } as Operation<'/views/bulk', undefined, ViewsBody, SavedViews, undefined>,
  /** List views. Needs `ROLE_SEE_VIEW`. */
  list: { method: 'get', path: '/views' } as Operation<'/views', ListQuery, undefined, View[], undefined>,
  /** Search views. Needs `ROLE_SEE_VIEW`. */
  search: { method: 'post', path: '/views/search', effect: 'read' } as Operation<'/views/search', undefined, SearchRequest, View[], undefined>,
  /** Create a view. Needs `ROLE_MANAGE_VIEW`. */
  create: { method: 'post', path: '/views' } as Operation<'/views', undefined, ViewBody, View, undefined>,
  /** Read a view. Needs `ROLE_SEE_VIEW`. */
  read: { method: 'get', path: '/views/:uid' } as Operation<'/views/:uid', undefined, undefined, View, undefined>,
  /** Replace a view. Needs `ROLE_MANAGE_VIEW`. */
  update: { method: 'put', path: '/views/:uid' } as Operation<'/views/:uid', undefined, ViewBody, View, undefined>,
  /** Delete a view. Needs `ROLE_MANAGE_VIEW`. */
  delete: { method: 'delete', path: '/views/:uid' } as Operation<'/views/:uid', undefined, undefined, undefined, undefined>,
  /** Share a view. Needs `ROLE_MANAGE_VIEW`. */
  share: { method: 'put', path: '/views/:uid/access' } as Operation<'/views/:uid/access', undefined, AccessBody, View[], undefined>,
  /** List what the view reads, and what reads it. While other objects read the view, it cannot be deleted. Checks and transformations read the tables and views that their SQL names. Needs `ROLE_SEE_VIEW`. */
  lineage: { method: 'get', path: '/views/:uid/lineage' } as Operation<'/views/:uid/lineage', undefined, undefined, Lineage, undefined>,
  /** Queue a run. Returns the current run of the view if one is queued or running. Needs `ROLE_MANAGE_VIEW`. */
  run: { method: 'post', path: '/views/:uid/run' } as Operation<'/views/:uid/run', undefined, RunBody, ResultEnvelope, undefined>,
  /** Cancel the queued or running run. Needs `ROLE_MANAGE_VIEW`. */
  cancel: { method: 'post', path: '/views/:uid/cancel' } as Operation<'/views/:uid/cancel', undefined, undefined, ResultEnvelope, undefined>,
  /** List runs, newest first. Needs `ROLE_SEE_VIEW`. */
  runs: { method: 'get', path: '/views/:uid/runs' } as Operation<'/views/:uid/runs', PageQuery, undefined, Run[], undefined>,
  /** Preview a query before it is saved as a view. All other fields of a view are accepted and ignored. Needs `ROLE_MANAGE_VIEW`. */
  preview: { method: 'post', path: '/views/preview', effect: 'read' } as Operation<'/views/preview', undefined, ViewPreviewBody, QueryResult, undefined>,
  /** Read the table of a view: columns, and rows and size if it is materialised. A view that is not materialised stores no rows, so its rowCount and size are 0. Needs `ROLE_SEE_VIEW`. */
  table: { method: 'get', path: '/views/:uid/table' } as Operation<'/views/:uid/table', undefined, undefined, Table, undefined>,
  /** Read the rows of a view. Needs `ROLE_SEE_VIEW`. */
  data: { method: 'get', path: '/views/:uid/data' } as Operation<'/views/:uid/data', DataQuery, undefined, QueryResult, undefined>,
}

export const dataPipelines = {
  /** Save several data pipelines. Saves all data pipelines or none. Each one replaces the data pipeline with the same name, or is created if no data pipeline has this name. `id` and `client` are ignored, so that you can save an export in another organisation. Violations point to an object by its position in the list. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  saveMany: { method: 'post', path: '/data-pipelines/bulk' } as Operation<'/data-pipelines/bulk', undefined, DataPipelinesBody, SavedDataPipelines, undefined>,
  /** List data pipelines. Needs `ROLE_SEE_DATA_PIPELINE`. */
  list: { method: 'get', path: '/data-pipelines' } as Operation<'/data-pipelines', ListQuery, undefined, DataPipeline[], undefined>,
  /** Search data pipelines. Needs `ROLE_SEE_DATA_PIPELINE`. */
  search: { method: 'post', path: '/data-pipelines/search', effect: 'read' } as Operation<'/data-pipelines/search', undefined, SearchRequest, DataPipeline[], undefined>,
  /** Create a data pipeline. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  create: { method: 'post', path: '/data-pipelines' } as Operation<'/data-pipelines', undefined, DataPipelineBody, DataPipeline, undefined>,
  /** Read a data pipeline. Needs `ROLE_SEE_DATA_PIPELINE`. */
  read: { method: 'get', path: '/data-pipelines/:uid' } as Operation<'/data-pipelines/:uid', undefined, undefined, DataPipeline, undefined>,
  /** Replace a data pipeline. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  update: { method: 'put', path: '/data-pipelines/:uid' } as Operation<'/data-pipelines/:uid', undefined, DataPipelineBody, DataPipeline, undefined>,
  /** Delete a data pipeline. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  delete: { method: 'delete', path: '/data-pipelines/:uid' } as Operation<'/data-pipelines/:uid', undefined, undefined, undefined, undefined>,
  /** Share a data pipeline. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  share: { method: 'put', path: '/data-pipelines/:uid/access' } as Operation<'/data-pipelines/:uid/access', undefined, AccessBody, DataPipeline[], undefined>,
  /** List what the data pipeline reads, and what reads it. While other objects read the data pipeline, it cannot be deleted. Checks and transformations read the tables and views that their SQL names. Needs `ROLE_SEE_DATA_PIPELINE`. */
  lineage: { method: 'get', path: '/data-pipelines/:uid/lineage' } as Operation<'/data-pipelines/:uid/lineage', undefined, undefined, Lineage, undefined>,
  /** Queue a run. Returns the current run of the data pipeline if one is queued or running. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  run: { method: 'post', path: '/data-pipelines/:uid/run' } as Operation<'/data-pipelines/:uid/run', undefined, RunBody, ResultEnvelope, undefined>,
  /** Cancel the queued or running run. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  cancel: { method: 'post', path: '/data-pipelines/:uid/cancel' } as Operation<'/data-pipelines/:uid/cancel', undefined, undefined, ResultEnvelope, undefined>,
  /** List runs, newest first. Needs `ROLE_SEE_DATA_PIPELINE`. */
  runs: { method: 'get', path: '/data-pipelines/:uid/runs' } as Operation<'/data-pipelines/:uid/runs', PageQuery, undefined, Run[], undefined>,
  /** Reset the cursor of incremental loads. The next run reads the whole source and replaces the rows, in any mode. With `from`, the next incremental run instead merges the changes since that time. Sources whose cursor is not a time reject `from`. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  resetCursor: { method: 'post', path: '/data-pipelines/:uid/reset-cursor' } as Operation<'/data-pipelines/:uid/reset-cursor', undefined, CursorResetBody, ResultEnvelope, undefined>,
  /** Restore the rows as they were before the last load. Queues a run that publishes the previous rows of all tables of the pipeline at once, with their columns, types and cursor. The replaced rows are kept, so a second restore undoes the first one. Incremental loads keep no previous rows, so the restored rows are those before the last full load. Available for schemas in PostgreSQL and ClickHouse. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  restore: { method: 'post', path: '/data-pipelines/:uid/restore' } as Operation<'/data-pipelines/:uid/restore', undefined, undefined, ResultEnvelope, undefined>,
  /** Upload the file that the next run loads. The body is the file. A complete upload replaces an earlier one. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  upload: { method: 'post', path: '/data-pipelines/:uid/file', upload: 'application/octet-stream' } as Operation<'/data-pipelines/:uid/file', UploadQuery, undefined, UploadedFile, undefined>,
  /** Preview a source before it is saved. Returns the first rows of the source: for databases, of the query or table; for uploads, of the uploaded file of the pipeline `id`. If `id` is given, the stored value of an omitted password or other secret is used. All other fields of a pipeline are accepted and ignored. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  preview: { method: 'post', path: '/data-pipelines/preview', effect: 'read' } as Operation<'/data-pipelines/preview', undefined, SourceBody, SourcePreview, undefined>,
  /** Preview a file before it is saved. The body is the start of the file, of which the first 4 MB are read. To preview a larger workbook, archive, JSON document or Parquet file, upload it to a pipeline first. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  previewFile: { method: 'post', path: '/data-pipelines/preview-file', effect: 'read', upload: 'application/octet-stream' } as Operation<'/data-pipelines/preview-file', FilePreviewQuery, undefined, SourcePreview, undefined>,
  /** Test the connection to a source before it is saved. A failed test returns status 200 with `status` ERROR, a code and a message. If `id` is given, the stored value of an omitted password or other secret is used. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  testSource: { method: 'post', path: '/data-pipelines/test-connection', effect: 'read' } as Operation<'/data-pipelines/test-connection', undefined, SourceBody, ResultEnvelope, undefined>,
  /** Test the connection to the source of a pipeline. A failed test returns status 200 with `status` ERROR, a code and a message. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  testConnection: { method: 'post', path: '/data-pipelines/:uid/test-connection', effect: 'read' } as Operation<'/data-pipelines/:uid/test-connection', undefined, undefined, ResultEnvelope, undefined>,
  /** List the options of a source before it is saved. Databases have the kinds `tables`, and `columns` and `keys` of the table `within`; the code of a column is its type, and keys are available for PostgreSQL, MySQL and MariaDB. `OBJECT_STORAGE_BUCKET` has `buckets` and `objects`, `CLOUD_BLOB_STORAGE` has `containers` and `blobs`, and `PUBLIC_DATASET` has `public-datasets`. Objects and blobs are those of one folder, `within`, with its folders. DHIS2 (`SOURCE_SYSTEM_C`) has the kinds that a destination looks up. The response has at most 1,000 items; use `query` to narrow them. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  lookup: { method: 'post', path: '/lookups/:type/:kind', effect: 'read' } as Operation<'/lookups/:type/:kind', undefined, SourceLookupBody, LookedUp[], undefined>,
  /** List the options of the source of a pipeline. If jdbcSource, url, bucket or container is absent, the stored value is used. If the password or token is absent, the stored one is used only if the address is the stored one. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  lookupSaved: { method: 'post', path: '/data-pipelines/:uid/lookups/:kind', effect: 'read' } as Operation<'/data-pipelines/:uid/lookups/:kind', undefined, SourceLookupBody, LookedUp[], undefined>,
  /** List the publications of the tables, newest first. The history of the loaded tables: each run that changed their rows, and each restore, with its changes of columns and its numbers of rows. Failed runs, dry runs and runs without new rows change nothing and are left out. A publication is listed as long as its run is kept. Needs `ROLE_SEE_DATA_PIPELINE`. */
  publications: { method: 'get', path: '/data-pipelines/:uid/publications' } as Operation<'/data-pipelines/:uid/publications', PageQuery, undefined, TablePublication[], undefined>,
  /** List the rejected rows of a run, with their positions and the reasons. Needs `ROLE_SEE_DATA_PIPELINE`. */
  rejectedRows: { method: 'get', path: '/data-pipelines/:uid/runs/:taskId/rejected-rows' } as Operation<'/data-pipelines/:uid/runs/:taskId/rejected-rows', RejectedRowsQuery, undefined, RejectedRow[], undefined>,
  /** List the results of the data quality checks of a run. The field `data` contains violating rows if the caller may read the check. Needs `ROLE_SEE_DATA_PIPELINE`. */
  qualityResults: { method: 'get', path: '/data-pipelines/:uid/runs/:taskId/quality-results' } as Operation<'/data-pipelines/:uid/runs/:taskId/quality-results', PageQuery, undefined, CheckResult[], undefined>,
  /** Read the log. Needs `ROLE_SEE_DATA_PIPELINE`. */
  logs: { method: 'get', path: '/data-pipelines/:uid/logs' } as Operation<'/data-pipelines/:uid/logs', LogQuery, undefined, LogEntry[], undefined>,
  /** Stream the log and the progress. Server-sent events: `log` with a LogEntry, and `run` with the current Run after each progress. The stream starts with the first line of the newest run, or after the line Last-Event-ID. Needs `ROLE_SEE_DATA_PIPELINE`. */
  followLogs: { method: 'get', path: '/data-pipelines/:uid/logs/stream', events: true } as Operation<'/data-pipelines/:uid/logs/stream', LogStreamQuery, undefined, LogEntry, undefined>,
  /** Read the loaded table: columns, rows, size. Needs `ROLE_SEE_DATA_PIPELINE` or `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  table: { method: 'get', path: '/data-pipelines/:uid/table' } as Operation<'/data-pipelines/:uid/table', undefined, undefined, Table, undefined>,
  /** Read the loaded rows. Needs `ROLE_SEE_DATA_PIPELINE` or `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  data: { method: 'get', path: '/data-pipelines/:uid/data' } as Operation<'/data-pipelines/:uid/data', DataQuery, undefined, QueryResult, undefined>,
  /** Read the profile of the loaded rows. The profile has values of the rows, so it needs the same permission as the rows. A load measures it while it reads the rows. Tables have none if the schema does not measure profiles (`profileTables`), if SQL statements of the pipeline changed the rows, and before their first load. Needs `ROLE_SEE_DATA_PIPELINE` or `ROLE_VIEW_DATA_ALL_DATA_PIPELINE`. */
  profile: { method: 'get', path: '/data-pipelines/:uid/profile' } as Operation<'/data-pipelines/:uid/profile', undefined, undefined, TableProfile, undefined>,
}

export const resumableUploads = {
  /** List the resumable uploads to a pipeline. Returns the uploads of all users, newest first. Finished uploads are listed until they expire. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  list: { method: 'get', path: '/data-pipelines/:uid/uploads' } as Operation<'/data-pipelines/:uid/uploads', undefined, undefined, ResumableUpload[], undefined>,
  /** Start a resumable upload of the file that the next run loads. Uses the protocol tus 1.0, for which clients exist in many languages. The request has no body. The length counts in the limit of all files of the organisation until the upload is finished, deleted or expired. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  create: { method: 'post', path: '/data-pipelines/:uid/uploads' } as Operation<'/data-pipelines/:uid/uploads', undefined, undefined, ResumableUpload, undefined>,
  /** Send the next bytes of a resumable upload. The request that brings the last byte replaces the file of the pipeline, as a plain upload does. `read` then returns the result. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  append: { method: 'patch', path: '/data-pipelines/:uid/uploads/:upload', upload: 'application/offset+octet-stream' } as Operation<'/data-pipelines/:uid/uploads/:upload', undefined, undefined, undefined, undefined>,
  /** Read the state of a resumable upload. `file` of a finished upload is what a plain upload of the file would have returned. A HEAD request, which tus clients send before they continue, needs `Tus-Resumable` and ends a request that still sends bytes. GET needs no such header, and disturbs no other request. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  read: { method: 'get', path: '/data-pipelines/:uid/uploads/:upload' } as Operation<'/data-pipelines/:uid/uploads/:upload', undefined, undefined, ResumableUpload, undefined>,
  /** Delete a resumable upload. Every user who may write the pipeline can delete it, whereas only the user who started it can continue it. A file that has already replaced that of the pipeline stays. Needs `ROLE_MANAGE_DATA_PIPELINE`. */
  delete: { method: 'delete', path: '/data-pipelines/:uid/uploads/:upload' } as Operation<'/data-pipelines/:uid/uploads/:upload', undefined, undefined, undefined, undefined>,
}

export const destinations = {
  /** Save several destinations. Saves all destinations or none. Each one replaces the destination with the same name, or is created if no destination has this name. `id` and `client` are ignored, so that you can save an export in another organisation. Violations point to an object by its position in the list. Needs `ROLE_MANAGE_DESTINATION`. */
  saveMany: { method: 'post', path: '/destinations/bulk' } as Operation<'/destinations/bulk', undefined, DestinationsBody, SavedDestinations, undefined>,
  /** List destinations. Needs `ROLE_SEE_DESTINATION`. */
  list: { method: 'get', path: '/destinations' } as Operation<'/destinations', ListQuery, undefined, Destination[], undefined>,
  /** Search destinations. Needs `ROLE_SEE_DESTINATION`. */
  search: { method: 'post', path: '/destinations/search', effect: 'read' } as Operation<'/destinations/search', undefined, SearchRequest, Destination[], undefined>,
  /** Create a destination. Needs `ROLE_MANAGE_DESTINATION`. */
  create: { method: 'post', path: '/destinations' } as Operation<'/destinations', undefined, DestinationBody, Destination, undefined>,
  /** Read a destination. Needs `ROLE_SEE_DESTINATION`. */
  read: { method: 'get', path: '/destinations/:uid' } as Operation<'/destinations/:uid', undefined, undefined, Destination, undefined>,
  /** Replace a destination. Needs `ROLE_MANAGE_DESTINATION`. */
  update: { method: 'put', path: '/destinations/:uid' } as Operation<'/destinations/:uid', undefined, DestinationBody, Destination, undefined>,
  /** Delete a destination. Needs `ROLE_MANAGE_DESTINATION`. */
  delete: { method: 'delete', path: '/destinations/:uid' } as Operation<'/destinations/:uid', undefined, undefined, undefined, undefined>,
  /** Share a destination. Needs `ROLE_MANAGE_DESTINATION`. */
  share: { method: 'put', path: '/destinations/:uid/access' } as Operation<'/destinations/:uid/access', undefined, AccessBody, Destination[], undefined>,
  /** List what the destination reads, and what reads it. While other objects read the destination, it cannot be deleted. Checks and transformations read the tables and views that their SQL names. Needs `ROLE_SEE_DESTINATION`. */
  lineage: { method: 'get', path: '/destinations/:uid/lineage' } as Operation<'/destinations/:uid/lineage', undefined, undefined, Lineage, undefined>,
  /** Queue a run. Returns the current run of the destination if one is queued or running. Needs `ROLE_MANAGE_DESTINATION`. */
  run: { method: 'post', path: '/destinations/:uid/run' } as Operation<'/destinations/:uid/run', undefined, RunBody, ResultEnvelope, undefined>,
  /** Cancel the queued or running run. Needs `ROLE_MANAGE_DESTINATION`. */
  cancel: { method: 'post', path: '/destinations/:uid/cancel' } as Operation<'/destinations/:uid/cancel', undefined, undefined, ResultEnvelope, undefined>,
  /** List runs, newest first. Needs `ROLE_SEE_DESTINATION`. */
  runs: { method: 'get', path: '/destinations/:uid/runs' } as Operation<'/destinations/:uid/runs', PageQuery, undefined, Run[], undefined>,
  /** List the rejected values of a run, with their positions and the reasons. Needs `ROLE_SEE_DESTINATION`. */
  rejectedRows: { method: 'get', path: '/destinations/:uid/runs/:taskId/rejected-rows' } as Operation<'/destinations/:uid/runs/:taskId/rejected-rows', RejectedRowsQuery, undefined, RejectedRow[], undefined>,
  /** Test the connection to a target before it is saved. A failed test returns status 200 with `status` ERROR, a code and a message. Needs `ROLE_MANAGE_DESTINATION`. */
  testTarget: { method: 'post', path: '/destinations/test-connection', effect: 'read' } as Operation<'/destinations/test-connection', undefined, TargetBody, ResultEnvelope, undefined>,
  /** Test the connection to the target of a destination. An absent password or token has the stored value if the address is the stored one. A failed test returns status 200 with `status` ERROR, a code and a message. Needs `ROLE_MANAGE_DESTINATION`. */
  testConnection: { method: 'post', path: '/destinations/:uid/test-connection', effect: 'read' } as Operation<'/destinations/:uid/test-connection', undefined, TargetBody, ResultEnvelope, undefined>,
  /** List the options of the target of a destination. The kinds are data-sets, data-elements, data-element-groups, organisation-units, organisation-unit-groups, organisation-unit-levels, category-option-combos, attributes, programs, program-stages, indicators and indicator-groups. The response has at most 1,000 items; use `query` to narrow them. Absent fields have the stored values. The stored password or token is only used if the address is the stored one. Needs `ROLE_MANAGE_DESTINATION`. */
  lookup: { method: 'post', path: '/destinations/:uid/lookups/:kind', effect: 'read' } as Operation<'/destinations/:uid/lookups/:kind', undefined, TargetLookupBody, LookedUp[], undefined>,
}

export const dataQualityChecks = {
  /** Save several data quality checks. Saves all data quality checks or none. Each one replaces the data quality check with the same name, or is created if no data quality check has this name. `id` and `client` are ignored, so that you can save an export in another organisation. Violations point to an object by its position in the list. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK`. */
  saveMany: { method: 'post', path: '/data-quality-checks/bulk' } as Operation<'/data-quality-checks/bulk', undefined, DataQualityChecksBody, SavedDataQualityChecks, undefined>,
  /** List data quality checks. Needs `ROLE_SEE_DATA_QUALITY_CHECK`. */
  list: { method: 'get', path: '/data-quality-checks' } as Operation<'/data-quality-checks', ListQuery, undefined, DataQualityCheck[], undefined>,
  /** Search data quality checks. Needs `ROLE_SEE_DATA_QUALITY_CHECK`. */
  search: { method: 'post', path: '/data-quality-checks/search', effect: 'read' } as Operation<'/data-quality-checks/search', undefined, SearchRequest, DataQualityCheck[], undefined>,
  /** Create a data quality check. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK`. */
  create: { method: 'post', path: '/data-quality-checks' } as Operation<'/data-quality-checks', undefined, DataQualityCheckBody, DataQualityCheck, undefined>,
  /** Read a data quality check. Needs `ROLE_SEE_DATA_QUALITY_CHECK`. */
  read: { method: 'get', path: '/data-quality-checks/:uid' } as Operation<'/data-quality-checks/:uid', undefined, undefined, DataQualityCheck, undefined>,
  /** Replace a data quality check. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK`. */
  update: { method: 'put', path: '/data-quality-checks/:uid' } as Operation<'/data-quality-checks/:uid', undefined, DataQualityCheckBody, DataQualityCheck, undefined>,
  /** Delete a data quality check. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK`. */
  delete: { method: 'delete', path: '/data-quality-checks/:uid' } as Operation<'/data-quality-checks/:uid', undefined, undefined, undefined, undefined>,
  /** Share a data quality check. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK`. */
  share: { method: 'put', path: '/data-quality-checks/:uid/access' } as Operation<'/data-quality-checks/:uid/access', undefined, AccessBody, DataQualityCheck[], undefined>,
  /** List what the data quality check reads, and what reads it. While other objects read the data quality check, it cannot be deleted. Checks and transformations read the tables and views that their SQL names. Needs `ROLE_SEE_DATA_QUALITY_CHECK`. */
  lineage: { method: 'get', path: '/data-quality-checks/:uid/lineage' } as Operation<'/data-quality-checks/:uid/lineage', undefined, undefined, Lineage, undefined>,
  /** Run a check and return its violations. The rows of the query are the violations. `data` contains at most 1,000 of them. If the query cannot be run, the response has status 200 with `status` ERROR and a message. Needs `ROLE_SEE_DATA_QUALITY_CHECK`. */
  run: { method: 'post', path: '/data-quality-checks/:uid/run', effect: 'read' } as Operation<'/data-quality-checks/:uid/run', undefined, RunInput, CheckResult, undefined>,
}

export const dataQualityCheckGroups = {
  /** Save several data quality check groups. Saves all data quality check groups or none. Each one replaces the data quality check group with the same name, or is created if no data quality check group has this name. `id` and `client` are ignored, so that you can save an export in another organisation. Violations point to an object by its position in the list. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP`. */
  saveMany: { method: 'post', path: '/data-quality-check-groups/bulk' } as Operation<'/data-quality-check-groups/bulk', undefined, DataQualityCheckGroupsBody, SavedDataQualityCheckGroups, undefined>,
  /** List data quality check groups. Needs `ROLE_SEE_DATA_QUALITY_CHECK_GROUP`. */
  list: { method: 'get', path: '/data-quality-check-groups' } as Operation<'/data-quality-check-groups', ListQuery, undefined, DataQualityCheckGroup[], undefined>,
  /** Search data quality check groups. Needs `ROLE_SEE_DATA_QUALITY_CHECK_GROUP`. */
  search: { method: 'post', path: '/data-quality-check-groups/search', effect: 'read' } as Operation<'/data-quality-check-groups/search', undefined, SearchRequest, DataQualityCheckGroup[], undefined>,
  /** Create a data quality check group. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP`. */
  create: { method: 'post', path: '/data-quality-check-groups' } as Operation<'/data-quality-check-groups', undefined, DataQualityCheckGroupBody, DataQualityCheckGroup, undefined>,
  /** Read a data quality check group. Needs `ROLE_SEE_DATA_QUALITY_CHECK_GROUP`. */
  read: { method: 'get', path: '/data-quality-check-groups/:uid' } as Operation<'/data-quality-check-groups/:uid', undefined, undefined, DataQualityCheckGroup, undefined>,
  /** Replace a data quality check group. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP`. */
  update: { method: 'put', path: '/data-quality-check-groups/:uid' } as Operation<'/data-quality-check-groups/:uid', undefined, DataQualityCheckGroupBody, DataQualityCheckGroup, undefined>,
  /** Delete a data quality check group. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP`. */
  delete: { method: 'delete', path: '/data-quality-check-groups/:uid' } as Operation<'/data-quality-check-groups/:uid', undefined, undefined, undefined, undefined>,
  /** Share a data quality check group. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP`. */
  share: { method: 'put', path: '/data-quality-check-groups/:uid/access' } as Operation<'/data-quality-check-groups/:uid/access', undefined, AccessBody, DataQualityCheckGroup[], undefined>,
  /** List what the data quality check group reads, and what reads it. While other objects read the data quality check group, it cannot be deleted. Checks and transformations read the tables and views that their SQL names. Needs `ROLE_SEE_DATA_QUALITY_CHECK_GROUP`. */
  lineage: { method: 'get', path: '/data-quality-check-groups/:uid/lineage' } as Operation<'/data-quality-check-groups/:uid/lineage', undefined, undefined, Lineage, undefined>,
  /** Run all checks of a group and return their results. Runs the checks one after the other. A run that takes more than one minute continues in the background. Returns and stores at most 100 violations of each check that the caller may read. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP`. */
  run: { method: 'post', path: '/data-quality-check-groups/:uid/run' } as Operation<'/data-quality-check-groups/:uid/run', undefined, RunInput, GroupResult, undefined>,
  /** Queue a run of all checks of a group. Returns the current run of the group if one is queued or running. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP`. */
  start: { method: 'post', path: '/data-quality-check-groups/:uid/start' } as Operation<'/data-quality-check-groups/:uid/start', undefined, RunInput, ResultEnvelope, undefined>,
  /** Cancel the queued or running run. Needs `ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP`. */
  cancel: { method: 'post', path: '/data-quality-check-groups/:uid/cancel' } as Operation<'/data-quality-check-groups/:uid/cancel', undefined, undefined, ResultEnvelope, undefined>,
  /** List runs, newest first. Needs `ROLE_SEE_DATA_QUALITY_CHECK_GROUP`. */
  runs: { method: 'get', path: '/data-quality-check-groups/:uid/runs' } as Operation<'/data-quality-check-groups/:uid/runs', PageQuery, undefined, Run[], undefined>,
  /** List the results of the data quality checks of a run. The field `data` contains violating rows if the caller may read the check. Needs `ROLE_SEE_DATA_QUALITY_CHECK_GROUP`. */
  qualityResults: { method: 'get', path: '/data-quality-check-groups/:uid/runs/:taskId/quality-results' } as Operation<'/data-quality-check-groups/:uid/runs/:taskId/quality-results', PageQuery, undefined, CheckResult[], undefined>,
}

export const workflows = {
  /** Save several workflows. Saves all workflows or none. Each one replaces the workflow with the same name, or is created if no workflow has this name. `id` and `client` are ignored, so that you can save an export in another organisation. Violations point to an object by its position in the list. Needs `ROLE_MANAGE_WORKFLOW`. */
  saveMany: { method: 'post', path: '/workflows/bulk' } as Operation<'/workflows/bulk', undefined, WorkflowsBody, SavedWorkflows, undefined>,
  /** List workflows. Needs `ROLE_SEE_WORKFLOW`. */
  list: { method: 'get', path: '/workflows' } as Operation<'/workflows', ListQuery, undefined, WorkflowSearchResult, undefined>,
  /** Search workflows. Needs `ROLE_SEE_WORKFLOW`. */
  search: { method: 'post', path: '/workflows/search', effect: 'read' } as Operation<'/workflows/search', undefined, SearchRequest, WorkflowSearchResult, undefined>,
  /** Create a workflow. Needs `ROLE_MANAGE_WORKFLOW`. */
  create: { method: 'post', path: '/workflows' } as Operation<'/workflows', undefined, WorkflowBody, Workflow, undefined>,
  /** Read a workflow. Needs `ROLE_SEE_WORKFLOW`. */
  read: { method: 'get', path: '/workflows/:uid' } as Operation<'/workflows/:uid', undefined, undefined, Workflow, undefined>,
  /** Replace a workflow. Needs `ROLE_MANAGE_WORKFLOW`. */
  update: { method: 'put', path: '/workflows/:uid' } as Operation<'/workflows/:uid', undefined, WorkflowBody, Workflow, undefined>,
  /** Delete a workflow. Needs `ROLE_MANAGE_WORKFLOW`. */
  delete: { method: 'delete', path: '/workflows/:uid' } as Operation<'/workflows/:uid', undefined, undefined, undefined, undefined>,
  /** Share a workflow. Needs `ROLE_MANAGE_WORKFLOW`. */
  share: { method: 'put', path: '/workflows/:uid/access' } as Operation<'/workflows/:uid/access', undefined, AccessBody, Workflow[], undefined>,
  /** List what the workflow reads, and what reads it. While other objects read the workflow, it cannot be deleted. Checks and transformations read the tables and views that their SQL names. Needs `ROLE_SEE_WORKFLOW`. */
  lineage: { method: 'get', path: '/workflows/:uid/lineage' } as Operation<'/workflows/:uid/lineage', undefined, undefined, Lineage, undefined>,
  /** Queue a run. Returns the current run of the workflow if one is queued or running. Needs `ROLE_MANAGE_WORKFLOW`. */
  run: { method: 'post', path: '/workflows/:uid/run' } as Operation<'/workflows/:uid/run', undefined, RunBody, ResultEnvelope, undefined>,
  /** Cancel the queued or running run. Needs `ROLE_MANAGE_WORKFLOW`. */
  cancel: { method: 'post', path: '/workflows/:uid/cancel' } as Operation<'/workflows/:uid/cancel', undefined, undefined, ResultEnvelope, undefined>,
  /** List runs, newest first. Needs `ROLE_SEE_WORKFLOW`. */
  runs: { method: 'get', path: '/workflows/:uid/runs' } as Operation<'/workflows/:uid/runs', PageQuery, undefined, Run[], undefined>,
}

export const configuration = {
  /** Export the configuration. Returns the objects that you may see, with names instead of ids and without secrets. The export can be applied to another organisation or installation. Needs `ROLE_SEE_SCHEMA` or `ROLE_SEE_VARIABLE` or `ROLE_SEE_DATA_QUALITY_CHECK` or `ROLE_SEE_DATA_QUALITY_CHECK_GROUP` or `ROLE_SEE_DATA_PIPELINE` or `ROLE_SEE_VIEW` or `ROLE_SEE_DESTINATION` or `ROLE_SEE_WORKFLOW`. */
  export: { method: 'get', path: '/configuration' } as Operation<'/configuration', ExportQuery, undefined, Configuration, undefined>,
  /** Show what applying a configuration would change. Saves nothing. Each object replaces the one with the same name, or is created. Objects that the configuration does not contain stay unchanged. An absent secret keeps its stored value. Requires the role for each kind in the configuration, and the access to each object that a single request needs. Needs `ROLE_MANAGE_SCHEMA` or `ROLE_MANAGE_VARIABLE` or `ROLE_MANAGE_DATA_QUALITY_CHECK` or `ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP` or `ROLE_MANAGE_DATA_PIPELINE` or `ROLE_MANAGE_VIEW` or `ROLE_MANAGE_DESTINATION` or `ROLE_MANAGE_WORKFLOW`. */
  plan: { method: 'post', path: '/configuration/plan' } as Operation<'/configuration/plan', undefined, ConfigurationBody, ConfigurationChanges, undefined>,
  /** Apply a configuration. Saves all objects or none. Each object replaces the one with the same name, or is created. Objects that the configuration does not contain stay unchanged. An absent secret keeps its stored value. Requires the role for each kind in the configuration, and the access to each object that a single request needs. Runs then create or change the views in the warehouse. Needs `ROLE_MANAGE_SCHEMA` or `ROLE_MANAGE_VARIABLE` or `ROLE_MANAGE_DATA_QUALITY_CHECK` or `ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP` or `ROLE_MANAGE_DATA_PIPELINE` or `ROLE_MANAGE_VIEW` or `ROLE_MANAGE_DESTINATION` or `ROLE_MANAGE_WORKFLOW`. */
  apply: { method: 'post', path: '/configuration/apply' } as Operation<'/configuration/apply', ApplyQuery, ConfigurationBody, ConfigurationChanges, undefined>,
}

export const warehouseReaders = {
  /** Get the certificate with which programs verify the warehouse server. Programs need it for `sslmode=verify-full`. The certificate is not secret. Needs `ROLE_SEE_SCHEMA`. */
  certificate: { method: 'get', path: '/warehouse-readers/certificate' } as Operation<'/warehouse-readers/certificate', undefined, undefined, WarehouseCertificate, undefined>,
  /** List warehouse readers. Needs `ROLE_SEE_SCHEMA`. */
  list: { method: 'get', path: '/warehouse-readers' } as Operation<'/warehouse-readers', ListQuery, undefined, WarehouseReader[], undefined>,
  /** Search warehouse readers. Needs `ROLE_SEE_SCHEMA`. */
  search: { method: 'post', path: '/warehouse-readers/search', effect: 'read' } as Operation<'/warehouse-readers/search', undefined, SearchRequest, WarehouseReader[], undefined>,
  /** Create a database login that reads schemas. The login reads all tables and views of the schemas, present and future, including those that are not shared with the caller. So the caller also needs ROLE_VIEW_DATA_ALL_DATA_PIPELINE. Only this response and that of `rotate` contain the password. Needs `ROLE_MANAGE_SCHEMA`. */
  create: { method: 'post', path: '/warehouse-readers' } as Operation<'/warehouse-readers', undefined, WarehouseReaderBody, NewWarehouseReader, undefined>,
  /** Read a warehouse reader. Needs `ROLE_SEE_SCHEMA`. */
  read: { method: 'get', path: '/warehouse-readers/:uid' } as Operation<'/warehouse-readers/:uid', undefined, undefined, WarehouseReader, undefined>,
  /** Replace a warehouse reader. Needs `ROLE_MANAGE_SCHEMA`. */
  update: { method: 'put', path: '/warehouse-readers/:uid' } as Operation<'/warehouse-readers/:uid', undefined, WarehouseReaderBody, WarehouseReader, undefined>,
  /** Delete a warehouse reader. Needs `ROLE_MANAGE_SCHEMA`. */
  delete: { method: 'delete', path: '/warehouse-readers/:uid' } as Operation<'/warehouse-readers/:uid', undefined, undefined, undefined, undefined>,
  /** Replace the password of a warehouse reader. The old password becomes invalid, and open sessions end. Needs ROLE_VIEW_DATA_ALL_DATA_PIPELINE, too. Needs `ROLE_MANAGE_SCHEMA`. */
  rotate: { method: 'post', path: '/warehouse-readers/:uid/rotate' } as Operation<'/warehouse-readers/:uid/rotate', undefined, undefined, NewWarehouseReader, undefined>,
}

export const runs = {
  /** List the runs of all objects, newest first. Returns the runs of the data pipelines, views, destinations, check groups and workflows that the caller may see. The pages are not counted; follow the cursor or the `next` link. Needs `ROLE_SEE_DATA_PIPELINE` or `ROLE_SEE_VIEW` or `ROLE_SEE_DESTINATION` or `ROLE_SEE_DATA_QUALITY_CHECK_GROUP` or `ROLE_SEE_WORKFLOW`. */
  list: { method: 'get', path: '/runs' } as Operation<'/runs', RunListQuery, undefined, ObjectRun[], undefined>,
  /** Stream new and changed runs. Server-sent events. The stream starts with the queued and running runs. Each event `run` has an ObjectRun: a new run, or a run with a new status, message or progress. After Last-Event-ID, the runs that ended since then come first; runs that ended in the minute before it can come twice. The event `reset` means that runs are missing, because Last-Event-ID is older than a day: read the list again. Needs `ROLE_SEE_DATA_PIPELINE` or `ROLE_SEE_VIEW` or `ROLE_SEE_DESTINATION` or `ROLE_SEE_DATA_QUALITY_CHECK_GROUP` or `ROLE_SEE_WORKFLOW`. */
  stream: { method: 'get', path: '/runs/stream', events: true } as Operation<'/runs/stream', RunStreamQuery, undefined, ObjectRun, undefined>,
}

export const schedules = {
  /** List planned runs by time. Returns each planned run of the enabled schedules that the caller may see, in the time zone of the organisation. Runs that have started are in `GET /runs`. The pages are not counted; follow the cursor or the `next` link. Needs `ROLE_SEE_DATA_PIPELINE` or `ROLE_SEE_VIEW` or `ROLE_SEE_DESTINATION` or `ROLE_SEE_DATA_QUALITY_CHECK_GROUP` or `ROLE_SEE_WORKFLOW`. */
  list: { method: 'get', path: '/schedules' } as Operation<'/schedules', PlannedRunQuery, undefined, PlannedRun[], undefined>,
  /** Describe a schedule in words, with its next five runs. Takes the fields of a schedule, or only a cron expression. Needs `ROLE_SEE_DATA_PIPELINE` or `ROLE_SEE_VIEW` or `ROLE_SEE_DESTINATION` or `ROLE_SEE_DATA_QUALITY_CHECK_GROUP` or `ROLE_SEE_WORKFLOW`. */
  preview: { method: 'post', path: '/schedules/preview', effect: 'read' } as Operation<'/schedules/preview', undefined, SchedulePreviewBody, SchedulePreview, undefined>,
}

export const publicDatasets = {
  /** List public datasets. Returns the datasets of all organisations, without their tables. */
  list: { method: 'get', path: '/public-datasets' } as Operation<'/public-datasets', ListQuery, undefined, PublicDataset[], undefined>,
  /** Upload a public dataset. The body is a form whose last part is `file`. The file is loaded like a CSV_UPLOAD while the request waits. If the load takes longer, it continues in the background, and the response has no table. A file that cannot be loaded is rejected, and no dataset is created. Needs `ROLE_MANAGE_PUBLIC_DATASET_CATALOG`. */
  create: { method: 'post', path: '/public-datasets', upload: 'multipart/form-data' } as Operation<'/public-datasets', PublicDatasetUploadQuery, undefined, PublicDataset, PublicDatasetForm>,
  /** Read a public dataset. */
  read: { method: 'get', path: '/public-datasets/:key' } as Operation<'/public-datasets/:key', undefined, undefined, PublicDataset, undefined>,
  /** Replace the metadata of a public dataset. You can only change datasets of your organisation. A change of headerRow loads the file again; other changes keep the rows. Needs `ROLE_MANAGE_PUBLIC_DATASET_CATALOG`. */
  update: { method: 'put', path: '/public-datasets/:key' } as Operation<'/public-datasets/:key', undefined, PublicDatasetBody, PublicDataset, undefined>,
  /** Delete a public dataset. You can only delete datasets of your organisation that no data pipeline loads. Needs `ROLE_MANAGE_PUBLIC_DATASET_CATALOG`. */
  delete: { method: 'delete', path: '/public-datasets/:key' } as Operation<'/public-datasets/:key', undefined, undefined, undefined, undefined>,
  /** Replace the rows of a public dataset. The body is the file. The old rows stay until the file is loaded, and also if it cannot be loaded. A file with mostly different columns is rejected unless the query contains rebuild=true. Needs `ROLE_MANAGE_PUBLIC_DATASET_CATALOG`. */
  upload: { method: 'post', path: '/public-datasets/:key/file', upload: 'application/octet-stream' } as Operation<'/public-datasets/:key/file', PublicDatasetFileQuery, undefined, PublicDataset, undefined>,
  /** Read the rows of a public dataset. */
  data: { method: 'get', path: '/public-datasets/:key/data' } as Operation<'/public-datasets/:key/data', DataQuery, undefined, QueryResult, undefined>,
}

export const publicData = {
  /** Read the public metadata of a data pipeline. Requires no token. Returns 404 if `anonymousAccess` of the object does not allow the request. */
  dataPipeline: { method: 'get', path: '/public/data-pipelines/:uid' } as Operation<'/public/data-pipelines/:uid', undefined, undefined, PublicMetadata, undefined>,
  /** Read the public rows of a data pipeline. Requires no token. Returns 404 if `anonymousAccess` of the object does not allow the request. */
  dataPipelineData: { method: 'get', path: '/public/data-pipelines/:uid/data' } as Operation<'/public/data-pipelines/:uid/data', PublicDataQuery, undefined, PublicData, undefined>,
  /** Read the public metadata of a view. Requires no token. Returns 404 if `anonymousAccess` of the object does not allow the request. */
  view: { method: 'get', path: '/public/views/:uid' } as Operation<'/public/views/:uid', undefined, undefined, PublicMetadata, undefined>,
  /** Read the public rows of a view. Requires no token. Returns 404 if `anonymousAccess` of the object does not allow the request. */
  viewData: { method: 'get', path: '/public/views/:uid/data' } as Operation<'/public/views/:uid/data', PublicDataQuery, undefined, PublicData, undefined>,
}

export const deletedClients = {
  /** List deleted clients with stored data. Users cannot reach this data. Maintenance erases it 30 days after the deletion. Needs `ROLE_SUPER_ADMIN`. */
  list: { method: 'get', path: '/deleted-clients' } as Operation<'/deleted-clients', undefined, undefined, DeletedClient[], undefined>,
  /** Erase the data of a deleted client. Immediately and permanently erases the warehouses, files, runs, settings and objects of the client. The audit log and public datasets stay. If the warehouse does not respond, the other data is not erased; send the request again. Needs `ROLE_SUPER_ADMIN`. */
  erase: { method: 'delete', path: '/deleted-clients/:uid' } as Operation<'/deleted-clients/:uid', undefined, undefined, undefined, undefined>,
}

export const audit = {
  /** Audit log. Returns the newest entries of your organisation first: every write and every export, with the values before and after it and without secrets. The details show objects that are not shared with you. `metaData.pager.nextCursor` is the `after` of the next page. Add a filter on "at" to search a long log faster. Needs `ROLE_SEE_AUDIT_LOG`. */
  list: { method: 'get', path: '/audit' } as Operation<'/audit', ListQuery, undefined, TabularResult, undefined>,
}

export interface Access {
  publicAccess: "NONE" | "READ" | "READ_WRITE"
  userAccess: AccessObject[]
  userGroupAccess: AccessObject[]
  accessLevel: "PRIVATE" | "SHARED" | "PUBLIC"
  hasPublicAccess: boolean
}

export interface AccessBody {
  publicAccess?: "NONE" | "READ" | "READ_WRITE"
  userAccess: AccessObjectBody[]
  userGroupAccess: AccessObjectBody[]
}

export interface AccessObject {
  id: string
  access: "READ" | "READ_WRITE"
}

export interface AccessObjectBody {
  id: string
  /** Default: READ. */
  access?: "READ" | "READ_WRITE"
}

export interface AccessPart {
  publicAccess?: "NONE" | "READ" | "READ_WRITE"
  userAccess?: AccessObjectBody[]
  userGroupAccess?: AccessObjectBody[]
}

export interface AnonymousAccess {
  metadata: boolean
  data: boolean
}

/** Absent fields mean false. */
export interface AnonymousAccessBody {
  metadata?: boolean
  data?: boolean
}

export interface ApiLoginSource {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** An account with read access is sufficient. */
  username: string
  /** Which secrets are stored. */
  secretStatus: {
    password: SecretStatus
  }
}

export interface ApiLoginSourceBody {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** An account with read access is sufficient. */
  username: string
  /** The password of the account. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  password?: string | null
}

export interface ApiLoginSourceBodyOfConfiguration {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** An account with read access is sufficient. */
  username: string
  /** The password of the account. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  password?: string | null
}

export interface ApiLoginSourceBodyOfExport {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** An account with read access is sufficient. */
  username: string
}

export interface ApiSource {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** The user name for the password. Not used with a token. */
  username?: string
  /** Which secrets are stored. */
  secretStatus: {
    password: SecretStatus
    authToken: SecretStatus
  }
}

export interface ApiSourceBody {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** The user name for the password. Not used with a token. */
  username?: string
  /** The password of the account. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  password?: string | null
  /** An API token of the system. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
}

export interface ApiSourceBodyOfConfiguration {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** The user name for the password. Not used with a token. */
  username?: string
  /** The password of the account. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  password?: string | null
  /** An API token of the system. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
}

export interface ApiSourceBodyOfExport {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** The user name for the password. Not used with a token. */
  username?: string
}

export interface ApiTarget {
  /** The base address of DHIS2, without /api. */
  url: string
  username?: string
  /** Which secrets are stored. */
  secretStatus: {
    password: SecretStatus
  }
}

export interface ApiTargetBody {
  /** The base address of DHIS2, without /api. */
  url: string
  username?: string
  /** Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  password?: string | null
}

export interface ApiTargetBodyOfConfiguration {
  /** The base address of DHIS2, without /api. */
  url: string
  username?: string
  /** Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  password?: string | null
}

export interface ApiTargetBodyOfExport {
  /** The base address of DHIS2, without /api. */
  url: string
  username?: string
}

export interface ApiTokenSource {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** Which secrets are stored. */
  secretStatus: {
    authToken: SecretStatus
  }
}

export interface ApiTokenSourceBody {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** An API token of the system. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
}

export interface ApiTokenSourceBodyOfConfiguration {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** An API token of the system. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
}

export interface ApiTokenSourceBodyOfExport {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
}

export interface ApiTokenTarget {
  /** The base address of DHIS2, without /api. */
  url: string
  /** Which secrets are stored. */
  secretStatus: {
    authToken: SecretStatus
  }
}

export interface ApiTokenTargetBody {
  /** The base address of DHIS2, without /api. */
  url: string
  /** Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
}

export interface ApiTokenTargetBodyOfConfiguration {
  /** The base address of DHIS2, without /api. */
  url: string
  /** Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
}

export interface ApiTokenTargetBodyOfExport {
  /** The base address of DHIS2, without /api. */
  url: string
}

export interface ApiUserTokenSource {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** An account with read access is sufficient. */
  username: string
  /** Which secrets are stored. */
  secretStatus: {
    authToken: SecretStatus
  }
}

export interface ApiUserTokenSourceBody {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** An account with read access is sufficient. */
  username: string
  /** An API token of the system. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
}

export interface ApiUserTokenSourceBodyOfConfiguration {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** An account with read access is sufficient. */
  username: string
  /** An API token of the system. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
}

export interface ApiUserTokenSourceBodyOfExport {
  /** The base address of the system. Leave out /api, and any username or password. */
  url: string
  /** An account with read access is sufficient. */
  username: string
}

export interface ApplyQuery {
  /** The `plan` of a plan. If the changes now differ from it, the response is 412 and nothing is saved. */
  plan?: string
}

export interface BlobStoreLookupBody {
  /** The name of the storage account. */
  account?: string
  /** The name of the container. */
  container?: string
  /** The endpoint of another cloud. Default: https://<account>.blob.core.windows.net. */
  endpoint?: string
  /** The key of the storage account. Set either this or a SAS token. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  accountKey?: string | null
  /** A shared access signature that may list and read. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  sasToken?: string | null
}

export interface BlobStoreSource {
  /** The name of the storage account. */
  account: string
  /** The name of the container. */
  container: string
  /** The endpoint of another cloud. Default: https://<account>.blob.core.windows.net. */
  endpoint?: string
  /** Which secrets are stored. */
  secretStatus: {
    accountKey: SecretStatus
    sasToken: SecretStatus
  }
}

export interface BlobStoreSourceBody {
  /** The name of the storage account. */
  account: string
  /** The name of the container. */
  container: string
  /** The endpoint of another cloud. Default: https://<account>.blob.core.windows.net. */
  endpoint?: string
  /** The key of the storage account. Set either this or a SAS token. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  accountKey?: string | null
  /** A shared access signature that may list and read. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  sasToken?: string | null
}

export interface BlobStoreSourceBodyOfConfiguration {
  /** The name of the storage account. */
  account: string
  /** The name of the container. */
  container: string
  /** The endpoint of another cloud. Default: https://<account>.blob.core.windows.net. */
  endpoint?: string
  /** The key of the storage account. Set either this or a SAS token. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  accountKey?: string | null
  /** A shared access signature that may list and read. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  sasToken?: string | null
}

export interface BlobStoreSourceBodyOfExport {
  /** The name of the storage account. */
  account: string
  /** The name of the container. */
  container: string
  /** The endpoint of another cloud. Default: https://<account>.blob.core.windows.net. */
  endpoint?: string
}

export interface CatalogueName {
  /** TABLE includes views. */
  kind: "SCHEMA" | "TABLE" | "COLUMN"
  name: string
  /** The schema of a table or column. */
  schema?: string
  /** The table of a column; if several tables have a column of this name, one of them. */
  table?: string
  /** The type of the column in that table. */
  dataType?: "SMALLINT" | "INTEGER" | "BIGINT" | "DECIMAL" | "FLOAT" | "DOUBLE" | "BOOLEAN" | "CHARACTER_11" | "VARCHAR_50" | "VARCHAR_255" | "TEXT" | "DATE" | "TIMESTAMP" | "TIMESTAMPTZ" | "GEOMETRY" | "GEOMETRY_POINT" | "JSONB"
  /** How many tables have a column of this name. */
  tables?: number
}

export interface CatalogueNames {
  /** Schemas, tables, then columns, each in alphabetical order. */
  names: CatalogueName[]
  /** Whether a kind has more names than `limit`. */
  more: boolean
}

export interface CatalogueNamesQuery {
  /** The first characters of a name, in any case. `schema.` before it finds the tables of a schema, `table.` or `schema.table.` the columns of a table. Without a prefix, no columns are returned. */
  prefix?: string
  /** The maximum number of names of each kind. Default: 50. */
  limit?: number
}

export interface CheckResult {
  dataQualityCheckId: string
  name: string
  /** OK: the query returned no violations. FAILED: it returned violations. ERROR: the query could not be run. */
  status: "OK" | "FAILED" | "ERROR"
  message: string
  completedAt: string
  violations?: number
  data?: QueryResult
}

export interface ClinicalApiSource {
  /** The base address of the FHIR server. */
  url: string
  /** The user name for the password, if the server supports passwords. */
  username?: string
  /** With a private key: the client id of this installation at the server. */
  clientId?: string
  /** The id under which the server knows the key. */
  keyId?: string
  /** The scope that is requested with the private key. Default: `system/*.rs`. */
  scope?: string
  /** Which secrets are stored. */
  secretStatus: {
    password: SecretStatus
    authToken: SecretStatus
    privateKey: SecretStatus
  }
}

export interface ClinicalApiSourceBody {
  /** The base address of the FHIR server. */
  url: string
  /** The user name for the password, if the server supports passwords. */
  username?: string
  /** With a private key: the client id of this installation at the server. */
  clientId?: string
  /** The id under which the server knows the key. */
  keyId?: string
  /** The scope that is requested with the private key. Default: `system/*.rs`. */
  scope?: string
  /** The password of the account. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  password?: string | null
  /** A bearer token that does not expire. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
  /** For SMART Backend Services: PKCS #8 in PEM, of RSA or P-384. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  privateKey?: string | null
}

export interface ClinicalApiSourceBodyOfConfiguration {
  /** The base address of the FHIR server. */
  url: string
  /** The user name for the password, if the server supports passwords. */
  username?: string
  /** With a private key: the client id of this installation at the server. */
  clientId?: string
  /** The id under which the server knows the key. */
  keyId?: string
  /** The scope that is requested with the private key. Default: `system/*.rs`. */
  scope?: string
  /** The password of the account. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  password?: string | null
  /** A bearer token that does not expire. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
  /** For SMART Backend Services: PKCS #8 in PEM, of RSA or P-384. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  privateKey?: string | null
}

export interface ClinicalApiSourceBodyOfExport {
  /** The base address of the FHIR server. */
  url: string
  /** The user name for the password, if the server supports passwords. */
  username?: string
  /** With a private key: the client id of this installation at the server. */
  clientId?: string
  /** The id under which the server knows the key. */
  keyId?: string
  /** The scope that is requested with the private key. Default: `system/*.rs`. */
  scope?: string
}

export interface CloudBlobStoragePipeline extends DataPipelineFields {
  type: "CLOUD_BLOB_STORAGE"
  blobStoreSource: BlobStoreSource
  /** The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}. */
  key: string
  /** The delimiter of delimited text. Ignored for other formats. */
  delimiter: "PIPE" | "COMMA" | "TAB" | "SEMI_COLON"
  csvOptions?: CsvOptions
}

export interface CloudBlobStoragePipelineBody extends DataPipelineBodyFields {
  type?: "CLOUD_BLOB_STORAGE"
  blobStoreSource: BlobStoreSourceBody
  /** The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}. */
  key: string
  /** The delimiter of delimited text. Ignored for other formats. */
  delimiter: "PIPE" | "COMMA" | "TAB" | "SEMI_COLON"
  csvOptions?: CsvOptions
}

export interface CloudBlobStorageSourceBody extends SourceBodyFields {
  type: "CLOUD_BLOB_STORAGE"
  blobStoreSource: BlobStoreSourceBody
  /** The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}. */
  key: string
  /** The delimiter of delimited text. Ignored for other formats. */
  delimiter: "PIPE" | "COMMA" | "TAB" | "SEMI_COLON"
  csvOptions?: CsvOptions
}

export interface Column {
  label: string
  name: string
  /** The text that a user has written about the column. It stays when the table is loaded again. */
  description?: string
  /** The name of the table, which valueExpression uses as its alias. Absent in query results. */
  tableAlias?: string
  dataType: "SMALLINT" | "INTEGER" | "BIGINT" | "DECIMAL" | "FLOAT" | "DOUBLE" | "BOOLEAN" | "CHARACTER_11" | "VARCHAR_50" | "VARCHAR_255" | "TEXT" | "DATE" | "TIMESTAMP" | "TIMESTAMPTZ" | "GEOMETRY" | "GEOMETRY_POINT" | "JSONB"
  primaryKey: boolean
  /** Whether the column is the whole primary key. */
  id?: boolean
  /** Whether the warehouse sorts the rows by this column, alone or with others. */
  sortKey?: boolean
  /** Whether the last load did not contain the column, which is therefore empty. */
  deleted?: boolean
  created?: string
  /** The format in which the loaded files print all values of the column, such as DD.MM.YYYY or 0,00. Absent if they have several formats, if the column contains text, or if the table was not loaded from text. See docs/csv-files.md. */
  sourceFormat?: string
  length?: number
  /** Estimated number of distinct values, usually within 7 % and at most the number of rows with a value. */
  distinctValues?: number
  nullValues?: number
  /** Dates and times are in milliseconds since 1970-01-01T00:00:00Z. */
  minValue?: number
  /** See `minValue`. */
  maxValue?: number
  /** The quoted column with its table, for use in a query of the table. Absent in query results. */
  valueExpression?: string
  dataTypeLabel?: string
}

export interface ColumnDescriptionBody {
  name: string
  description: string
}

export interface ColumnProfile {
  name: string
  nullValues: number
  distinctValues: number
  /** Whether `distinctValues` is an estimate, usually within 7 %. It is exact for up to 64 distinct values. */
  distinctIsEstimate: boolean
  /** Texts are compared by their bytes, and cut to 64 bytes. JSONB columns have no smallest or largest value. */
  minValue?: string
  /** The length of the whole value in bytes, if `minValue` is cut. */
  minBytes?: number
  /** See `minValue`. */
  maxValue?: string
  /** The length of the whole value in bytes, if `maxValue` is cut. */
  maxBytes?: number
  /** The length of the shortest text in characters. */
  minLength?: number
  /** The length of the longest text in characters. */
  maxLength?: number
  /** The number of rows with NaN or an infinite value. They are not in the histogram. */
  notFinite?: number
  /** The most frequent values first. Values that occur once in the sample are left out. JSONB columns have no frequent values. */
  frequentValues?: FrequentValue[]
  /** Only in columns of numbers, dates and times. */
  histogram?: Histogram
  /** The number of random rows from which frequent values and histogram are estimated. Absent if both are exact. */
  sampledRows?: number
}

export interface Configuration {
  schemas?: ConfiguredSchema[]
  variables?: ConfiguredVariable[]
  dataQualityChecks?: ConfiguredDataQualityCheck[]
  dataQualityCheckGroups?: ConfiguredDataQualityCheckGroup[]
  dataPipelines?: ConfiguredPipeline[]
  views?: ConfiguredView[]
  destinations?: ConfiguredDestination[]
  workflows?: ConfiguredWorkflow[]
}

export interface ConfigurationBody {
  schemas?: ConfiguredSchemaBody[]
  variables?: ConfiguredVariableBody[]
  dataQualityChecks?: ConfiguredDataQualityCheckBody[]
  dataQualityCheckGroups?: ConfiguredDataQualityCheckGroupBody[]
  dataPipelines?: ConfiguredPipelineBody[]
  views?: ConfiguredViewBody[]
  destinations?: ConfiguredDestinationBody[]
  workflows?: ConfiguredWorkflowBody[]
}

export interface ConfigurationChange {
  kind: "schemas" | "variables" | "dataQualityChecks" | "dataQualityCheckGroups" | "dataPipelines" | "views" | "destinations" | "workflows"
  name: string
  /** The former name of a renamed object. */
  was?: string
  /** Absent if the object does not exist yet. */
  id?: string
  result: "CREATED" | "UPDATED" | "UNCHANGED"
  /** The changed fields of an updated object. */
  fields: FieldChange[]
  /** The secrets that the configuration adds or changes, removes, or lacks. Their values are never returned. */
  redacted: RedactedField[]
  /** Whether a run has to create or change the object in the warehouse. Applying queues that run. */
  pending: boolean
}

export interface ConfigurationChanges {
  /** False for a plan: nothing was saved. */
  applied: boolean
  message: string
  /** Identifies these changes. Send it with `POST /configuration/apply?plan=…`. */
  plan: string
  created: number
  updated: number
  unchanged: number
  pending: number
  /** The number of objects that need a secret for which no value is stored. */
  missing: number
  /** All objects of the configuration, in the order in which they are saved. */
  changes: ConfigurationChange[]
}

/** Absent fields keep their stored values. */
export interface ConfiguredAccess {
  publicAccess?: "NONE" | "READ" | "READ_WRITE"
  userAccess?: ConfiguredUserAccess[]
  userGroupAccess?: ConfiguredGroupAccess[]
}

export interface ConfiguredCloudBlobStoragePipeline extends ConfiguredPipelineFields {
  type: "CLOUD_BLOB_STORAGE"
  blobStoreSource: BlobStoreSourceBodyOfExport
  /** The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}. */
  key: string
  /** The delimiter of delimited text. Ignored for other formats. */
  delimiter: "PIPE" | "COMMA" | "TAB" | "SEMI_COLON"
  csvOptions?: CsvOptionsOfExport
}

export interface ConfiguredCloudBlobStoragePipelineBody extends ConfiguredPipelineBodyFields {
  type: "CLOUD_BLOB_STORAGE"
  blobStoreSource: BlobStoreSourceBodyOfConfiguration
  /** The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}. */
  key: string
  /** The delimiter of delimited text. Ignored for other formats. */
  delimiter: "PIPE" | "COMMA" | "TAB" | "SEMI_COLON"
  csvOptions?: CsvOptionsOfConfiguration
}

export interface ConfiguredCsvUploadPipeline extends ConfiguredPipelineFields {
  type: "CSV_UPLOAD"
  csvOptions?: CsvOptionsOfExport
}

export interface ConfiguredCsvUploadPipelineBody extends ConfiguredPipelineBodyFields {
  type: "CSV_UPLOAD"
  csvOptions?: CsvOptionsOfConfiguration
}

export interface ConfiguredDataQualityCheck {
  name: string
  translations?: LabelledTranslation[]
  shortName: string
  labels?: LabelBody[]
  description?: string
  code: string
  /** One SELECT that returns the violations as rows. `${name}` is replaced by the value of a variable. Tables without a schema are searched in all schemas; a table name that exists in several schemas is rejected. */
  query: string
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredDataQualityCheckBody {
  name: string
  translations?: LabelledTranslation[]
  shortName: string
  labels?: LabelBody[]
  description?: string
  code: string
  /** One SELECT that returns the violations as rows. `${name}` is replaced by the value of a variable. Tables without a schema are searched in all schemas; a table name that exists in several schemas is rejected. */
  query: string
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** The former name of the object, to rename it. Ignored if an object with the new name exists and none with the former name. */
  was?: string
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredDataQualityCheckGroup {
  name: string
  translations?: LabelledTranslation[]
  shortName: string
  labels?: LabelBody[]
  description?: string
  dataQualityChecks?: NameReference[]
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredDataQualityCheckGroupBody {
  name: string
  translations?: LabelledTranslation[]
  shortName: string
  labels?: LabelBody[]
  description?: string
  dataQualityChecks?: NameReference[]
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** The former name of the object, to rename it. Ignored if an object with the new name exists and none with the former name. */
  was?: string
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredDestination {
  name: string
  translations?: Translation[]
  description?: string
  importOptions?: ImportOptions
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  type?: "SOURCE_SYSTEM_C"
  viewSource: NameReference
  apiTarget?: ApiTargetBodyOfExport
  apiTokenTarget?: ApiTokenTargetBodyOfExport
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredDestinationBody {
  name: string
  translations?: Translation[]
  description?: string
  importOptions?: ImportOptions
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  type?: "SOURCE_SYSTEM_C"
  viewSource: NameReference
  apiTarget?: ApiTargetBodyOfConfiguration
  apiTokenTarget?: ApiTokenTargetBodyOfConfiguration
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** The former name of the object, to rename it. Ignored if an object with the new name exists and none with the former name. */
  was?: string
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredFhirPipeline extends ConfiguredPipelineFields {
  type: "FHIR"
  apiSource: ClinicalApiSourceBodyOfExport
  /** SEARCH reads page by page. BULK_EXPORT reads an export that the server prepares. Default: SEARCH. */
  method?: "SEARCH" | "BULK_EXPORT"
  /** The resource types to load. Each becomes a table. */
  resourceTypes: string[]
  /** Query parameters that limit the loaded resources, without the question mark. */
  search?: string
  /** For an export: only the members of this group. */
  group?: string
  /** ViewDefinitions of SQL on FHIR. Each one defines the columns of a table. Other types are loaded without a definition. */
  views?: ViewDefinitionOfExport[]
}

export interface ConfiguredFhirPipelineBody extends ConfiguredPipelineBodyFields {
  type: "FHIR"
  apiSource: ClinicalApiSourceBodyOfConfiguration
  /** SEARCH reads page by page. BULK_EXPORT reads an export that the server prepares. Default: SEARCH. */
  method?: "SEARCH" | "BULK_EXPORT"
  /** The resource types to load. Each becomes a table. */
  resourceTypes: string[]
  /** Query parameters that limit the loaded resources, without the question mark. */
  search?: string
  /** For an export: only the members of this group. */
  group?: string
  /** ViewDefinitions of SQL on FHIR. Each one defines the columns of a table. Other types are loaded without a definition. */
  views?: ViewDefinitionOfConfiguration[]
}

export interface ConfiguredFunctionPipeline extends ConfiguredPipelineFields {
  type: "FUNCTION"
  functionSource: FunctionPlaceBodyOfExport
  /** The parameters of each call, in addition to the cursor. */
  payload?: Payload
  /** Reads the records of a REST API at the address, instead of calling a function. */
  restApi?: RestApiOfExport
}

export interface ConfiguredFunctionPipelineBody extends ConfiguredPipelineBodyFields {
  type: "FUNCTION"
  functionSource: FunctionPlaceBodyOfConfiguration
  /** The parameters of each call, in addition to the cursor. */
  payload?: Payload
  /** Reads the records of a REST API at the address, instead of calling a function. */
  restApi?: RestApiOfConfiguration
}

export interface ConfiguredGroupAccess {
  /** The code of the user group. */
  code: string
  access?: "READ" | "READ_WRITE"
}

export interface ConfiguredJob {
  jobType: "DATA_PIPELINE_LOAD" | "VIEW_REFRESH" | "DATA_QUALITY_CHECK_GROUP_RUN" | "DESTINATION_PUSH"
  object: NameReference
}

export interface ConfiguredObjectStorageBucketPipeline extends ConfiguredPipelineFields {
  type: "OBJECT_STORAGE_BUCKET"
  objectStoreSource: ObjectStoreSourceBodyOfExport
  /** The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}. */
  key: string
  /** The delimiter of delimited text. Ignored for other formats. */
  delimiter: "PIPE" | "COMMA" | "TAB" | "SEMI_COLON"
  csvOptions?: CsvOptionsOfExport
}

export interface ConfiguredObjectStorageBucketPipelineBody extends ConfiguredPipelineBodyFields {
  type: "OBJECT_STORAGE_BUCKET"
  objectStoreSource: ObjectStoreSourceBodyOfConfiguration
  /** The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}. */
  key: string
  /** The delimiter of delimited text. Ignored for other formats. */
  delimiter: "PIPE" | "COMMA" | "TAB" | "SEMI_COLON"
  csvOptions?: CsvOptionsOfConfiguration
}

export interface ConfiguredOnlineSpreadsheetPipeline extends ConfiguredPipelineFields {
  type: "ONLINE_SPREADSHEET"
  spreadsheetSource: SpreadsheetSourceBodyOfExport
  /** The name of the sheet. Default: the first sheet. */
  sheet?: string
  /** The range of cells to load. Default: all cells. */
  range?: string
  /** Whether the first row contains the column names. Default: true. */
  headerRow?: boolean
}

export interface ConfiguredOnlineSpreadsheetPipelineBody extends ConfiguredPipelineBodyFields {
  type: "ONLINE_SPREADSHEET"
  spreadsheetSource: SpreadsheetSourceBodyOfConfiguration
  /** The name of the sheet. Default: the first sheet. */
  sheet?: string
  /** The range of cells to load. Default: all cells. */
  range?: string
  /** Whether the first row contains the column names. Default: true. */
  headerRow?: boolean
}

export interface ConfiguredParquetUploadPipeline extends ConfiguredPipelineFields {
  type: "PARQUET_UPLOAD"
}

export interface ConfiguredParquetUploadPipelineBody extends ConfiguredPipelineBodyFields {
  type: "PARQUET_UPLOAD"
}

export type ConfiguredPipeline =
  | ConfiguredCloudBlobStoragePipeline
  | ConfiguredSourceSystemAPipeline
  | ConfiguredSourceSystemBPipeline
  | ConfiguredCsvUploadPipeline
  | ConfiguredSourceSystemCPipeline
  | ConfiguredFunctionPipeline
  | ConfiguredFhirPipeline
  | ConfiguredOnlineSpreadsheetPipeline
  | ConfiguredSourceSystemDPipeline
  | ConfiguredSourceSystemEPipeline
  | ConfiguredSourceSystemFPipeline
  | ConfiguredSqlDatabaseAPipeline
  | ConfiguredSqlDatabaseBPipeline
  | ConfiguredSourceSystemGPipeline
  | ConfiguredSourceSystemHPipeline
  | ConfiguredSqlDatabaseCPipeline
  | ConfiguredParquetUploadPipeline
  | ConfiguredSqlDatabaseDPipeline
  | ConfiguredPublicDatasetPipeline
  | ConfiguredWarehouseAPipeline
  | ConfiguredObjectStorageBucketPipeline
  | ConfiguredSourceSystemIPipeline

export type ConfiguredPipelineBody =
  | ConfiguredCloudBlobStoragePipelineBody
  | ConfiguredSourceSystemAPipelineBody
  | ConfiguredSourceSystemBPipelineBody
  | ConfiguredCsvUploadPipelineBody
  | ConfiguredSourceSystemCPipelineBody
  | ConfiguredFunctionPipelineBody
  | ConfiguredFhirPipelineBody
  | ConfiguredOnlineSpreadsheetPipelineBody
  | ConfiguredSourceSystemDPipelineBody
  | ConfiguredSourceSystemEPipelineBody
  | ConfiguredSourceSystemFPipelineBody
  | ConfiguredSqlDatabaseAPipelineBody
  | ConfiguredSqlDatabaseBPipelineBody
  | ConfiguredSourceSystemGPipelineBody
  | ConfiguredSourceSystemHPipelineBody
  | ConfiguredSqlDatabaseCPipelineBody
  | ConfiguredParquetUploadPipelineBody
  | ConfiguredSqlDatabaseDPipelineBody
  | ConfiguredPublicDatasetPipelineBody
  | ConfiguredWarehouseAPipelineBody
  | ConfiguredObjectStorageBucketPipelineBody
  | ConfiguredSourceSystemIPipelineBody

export interface ConfiguredPipelineBodyFields {
  name: string
  translations?: Translation[]
  description?: string
  owner?: string
  url?: string
  reference?: string
  source?: string
  termsOfUse?: string
  tags?: string[]
  /** The policy for changed columns of the source. EVOLVE, the default, adds new columns, widens types and keeps removed columns without values. IGNORE_NEW does not load new columns. FAIL rejects every change. REPLACE gives the table the columns and types of each load. */
  schemaChanges?: "EVOLVE" | "IGNORE_NEW" | "FAIL" | "REPLACE"
  /** The mode in which a run writes its rows. REPLACE, the default, replaces all rows of the table. APPEND adds rows, and adds each uploaded file or object of an object store only once. MERGE replaces the rows with the same mergeKey and adds the others; rows that the source no longer has stay. A run with `rebuild` replaces all rows in every mode. */
  writeMode?: "REPLACE" | "APPEND" | "MERGE"
  /** For writeMode MERGE: the columns that identify a row, by their names in the table or in the source. Required if the source has no key. Their values are never null, and no two rows of a load have the same values in all of them. */
  mergeKey?: string[]
  transformation?: TransformationBodyOfConfiguration
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  dataQualityCheckGroup?: NameReference | null
  /** Absent fields mean false. */
  anonymousAccess?: AnonymousAccessBody
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  dataWarehouseTarget: DataWarehouseTargetBodyOfConfiguration
  /** The former name of the object, to rename it. Ignored if an object with the new name exists and none with the former name. */
  was?: string
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredPipelineFields {
  name: string
  translations?: Translation[]
  description?: string
  owner?: string
  url?: string
  reference?: string
  source?: string
  termsOfUse?: string
  tags?: string[]
  /** The policy for changed columns of the source. EVOLVE, the default, adds new columns, widens types and keeps removed columns without values. IGNORE_NEW does not load new columns. FAIL rejects every change. REPLACE gives the table the columns and types of each load. */
  schemaChanges?: "EVOLVE" | "IGNORE_NEW" | "FAIL" | "REPLACE"
  /** The mode in which a run writes its rows. REPLACE, the default, replaces all rows of the table. APPEND adds rows, and adds each uploaded file or object of an object store only once. MERGE replaces the rows with the same mergeKey and adds the others; rows that the source no longer has stay. A run with `rebuild` replaces all rows in every mode. */
  writeMode?: "REPLACE" | "APPEND" | "MERGE"
  /** For writeMode MERGE: the columns that identify a row, by their names in the table or in the source. Required if the source has no key. Their values are never null, and no two rows of a load have the same values in all of them. */
  mergeKey?: string[]
  transformation?: TransformationBodyOfExport
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  dataQualityCheckGroup?: NameReference | null
  /** Absent fields mean false. */
  anonymousAccess?: AnonymousAccessBody
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  dataWarehouseTarget: DataWarehouseTargetBodyOfExport
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredPublicDatasetPipeline extends ConfiguredPipelineFields {
  type: "PUBLIC_DATASET"
  /** The key of the public dataset. */
  key: string
}

export interface ConfiguredPublicDatasetPipelineBody extends ConfiguredPipelineBodyFields {
  type: "PUBLIC_DATASET"
  /** The key of the public dataset. */
  key: string
}

export interface ConfiguredSchema {
  name: string
  translations?: Translation[]
  schemaName?: string
  description?: string
  tags?: string[]
  permanent: boolean
  providerSchema: "WAREHOUSE_A" | "SQL_DATABASE_D" | "WAREHOUSE_B" | "WAREHOUSE_C" | "SQL_DATABASE_A" | "NA"
  /** Whether loads measure a profile of each table of the schema. false deletes the profiles of its tables at once. Default: as before; true for a new schema. */
  profileTables?: boolean
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredSchemaBody {
  name: string
  translations?: Translation[]
  schemaName?: string
  description?: string
  tags?: string[]
  permanent: boolean
  providerSchema: "WAREHOUSE_A" | "SQL_DATABASE_D" | "WAREHOUSE_B" | "WAREHOUSE_C" | "SQL_DATABASE_A" | "NA"
  /** Whether loads measure a profile of each table of the schema. false deletes the profiles of its tables at once. Default: as before; true for a new schema. */
  profileTables?: boolean
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** The former name of the object, to rename it. Ignored if an object with the new name exists and none with the former name. */
  was?: string
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredSourceSystemAPipeline extends ConfiguredPipelineFields {
  type: "SOURCE_SYSTEM_A"
  apiSource: ApiLoginSourceBodyOfExport
  /** The number of the facility. */
  project: string
  /** The kinds of records to load. Each becomes a table. */
  resources: ("PATIENTS" | "VISITS" | "INVOICES" | "CASH" | "STOCK_MOVEMENTS" | "STOCK_LOT_MOVEMENTS" | "STOCK_LOTS" | "DEPOTS" | "INVENTORY" | "SERVICES" | "EMPLOYEES" | "FISCAL_YEARS" | "DEBTOR_GROUPS" | "GENERAL_LEDGER")[]
  /** Dated records since this day. */
  startDate?: string
  /** Dated records until this day, inclusive. */
  endDate?: string
}

export interface ConfiguredSourceSystemAPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SOURCE_SYSTEM_A"
  apiSource: ApiLoginSourceBodyOfConfiguration
  /** The number of the facility. */
  project: string
  /** The kinds of records to load. Each becomes a table. */
  resources: ("PATIENTS" | "VISITS" | "INVOICES" | "CASH" | "STOCK_MOVEMENTS" | "STOCK_LOT_MOVEMENTS" | "STOCK_LOTS" | "DEPOTS" | "INVENTORY" | "SERVICES" | "EMPLOYEES" | "FISCAL_YEARS" | "DEBTOR_GROUPS" | "GENERAL_LEDGER")[]
  /** Dated records since this day. */
  startDate?: string
  /** Dated records until this day, inclusive. */
  endDate?: string
}

export interface ConfiguredSourceSystemBPipeline extends ConfiguredPipelineFields {
  type: "SOURCE_SYSTEM_B"
  apiSource: ApiUserTokenSourceBodyOfExport
  /** The name after /a/ in the address of the project. */
  domain: string
  /** XMLNS of forms. Each becomes a table; repeat groups become child tables. */
  forms?: string[]
  /** The case types to load. Each becomes a table. */
  caseTypes?: string[]
  /** Whether archived forms are loaded. */
  includeArchived?: boolean
}

export interface ConfiguredSourceSystemBPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SOURCE_SYSTEM_B"
  apiSource: ApiUserTokenSourceBodyOfConfiguration
  /** The name after /a/ in the address of the project. */
  domain: string
  /** XMLNS of forms. Each becomes a table; repeat groups become child tables. */
  forms?: string[]
  /** The case types to load. Each becomes a table. */
  caseTypes?: string[]
  /** Whether archived forms are loaded. */
  includeArchived?: boolean
}

export interface ConfiguredSourceSystemCPipeline extends ConfiguredPipelineFields {
  type: "SOURCE_SYSTEM_C"
  apiSource: ApiSourceBodyOfExport
  /** Reported data values, computed analytics, events of programs, the organisation unit hierarchy, or other metadata. */
  content: "DATA_VALUES" | "ANALYTICS" | "EVENTS" | "ORGANISATION_UNITS" | "METADATA"
  /** For data values: ids of data sets. Set either this or `dataElements`. */
  dataSets?: string[]
  /** For data values: ids of data elements. For analytics: items of the dimension dx. */
  dataElements?: string[]
  /** For events: ids of programs. Each stage becomes a table. */
  programs?: string[]
  /** For metadata: the kinds to load. Each kind becomes a table. */
  metadata?: ("DATA_SETS" | "DATA_ELEMENTS" | "DATA_ELEMENT_GROUPS" | "INDICATORS" | "INDICATOR_GROUPS" | "PROGRAMS" | "PROGRAM_STAGES" | "ORGANISATION_UNITS" | "ORGANISATION_UNIT_GROUPS" | "ORGANISATION_UNIT_LEVELS" | "CATEGORY_OPTION_COMBOS" | "ATTRIBUTES")[]
  /** Ids of organisation units, which include all units below. Analytics also accept LEVEL-3, OU_GROUP-id and USER_ORGUNIT. Default: the units of the account. */
  orgUnits?: string[]
  /** Periods in the notation of DHIS2, such as 202601, 2026Q1 or LAST_12_MONTHS. Set either periods or the first and last day. */
  periods?: string[]
  /** If set, the list of periods is not used. */
  startDate?: string
  /** If set, the list of periods is not used. The day is included. */
  endDate?: string
  /** `UID`, `CODE`, `NAME` or `ATTRIBUTE:<attribute id>`. Default: `UID`. */
  outputIdScheme?: string
}

export interface ConfiguredSourceSystemCPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SOURCE_SYSTEM_C"
  apiSource: ApiSourceBodyOfConfiguration
  /** Reported data values, computed analytics, events of programs, the organisation unit hierarchy, or other metadata. */
  content: "DATA_VALUES" | "ANALYTICS" | "EVENTS" | "ORGANISATION_UNITS" | "METADATA"
  /** For data values: ids of data sets. Set either this or `dataElements`. */
  dataSets?: string[]
  /** For data values: ids of data elements. For analytics: items of the dimension dx. */
  dataElements?: string[]
  /** For events: ids of programs. Each stage becomes a table. */
  programs?: string[]
  /** For metadata: the kinds to load. Each kind becomes a table. */
  metadata?: ("DATA_SETS" | "DATA_ELEMENTS" | "DATA_ELEMENT_GROUPS" | "INDICATORS" | "INDICATOR_GROUPS" | "PROGRAMS" | "PROGRAM_STAGES" | "ORGANISATION_UNITS" | "ORGANISATION_UNIT_GROUPS" | "ORGANISATION_UNIT_LEVELS" | "CATEGORY_OPTION_COMBOS" | "ATTRIBUTES")[]
  /** Ids of organisation units, which include all units below. Analytics also accept LEVEL-3, OU_GROUP-id and USER_ORGUNIT. Default: the units of the account. */
  orgUnits?: string[]
  /** Periods in the notation of DHIS2, such as 202601, 2026Q1 or LAST_12_MONTHS. Set either periods or the first and last day. */
  periods?: string[]
  /** If set, the list of periods is not used. */
  startDate?: string
  /** If set, the list of periods is not used. The day is included. */
  endDate?: string
  /** `UID`, `CODE`, `NAME` or `ATTRIBUTE:<attribute id>`. Default: `UID`. */
  outputIdScheme?: string
}

export interface ConfiguredSourceSystemDPipeline extends ConfiguredPipelineFields {
  type: "SOURCE_SYSTEM_D"
  apiSource: ApiLoginSourceBodyOfExport
  /** The id of the report to load. Set either this or `resourceTypes`. */
  report?: string
  /** FHIR resource types to load; each becomes a table. Set either this or `report`. */
  resourceTypes?: string[]
}

export interface ConfiguredSourceSystemDPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SOURCE_SYSTEM_D"
  apiSource: ApiLoginSourceBodyOfConfiguration
  /** The id of the report to load. Set either this or `resourceTypes`. */
  report?: string
  /** FHIR resource types to load; each becomes a table. Set either this or `report`. */
  resourceTypes?: string[]
}

export interface ConfiguredSourceSystemEPipeline extends ConfiguredPipelineFields {
  type: "SOURCE_SYSTEM_E"
  apiSource: ApiTokenSourceBodyOfExport
  /** The uid of the form, from its address. */
  survey: string
}

export interface ConfiguredSourceSystemEPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SOURCE_SYSTEM_E"
  apiSource: ApiTokenSourceBodyOfConfiguration
  /** The uid of the form, from its address. */
  survey: string
}

export interface ConfiguredSourceSystemFPipeline extends ConfiguredPipelineFields {
  type: "SOURCE_SYSTEM_F"
  apiSource: ApiLoginSourceBodyOfExport
  /** Codes of forms. Default: all forms. */
  forms?: string[]
  /** Whether people and places are loaded. Default: true. */
  contacts?: boolean
}

export interface ConfiguredSourceSystemFPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SOURCE_SYSTEM_F"
  apiSource: ApiLoginSourceBodyOfConfiguration
  /** Codes of forms. Default: all forms. */
  forms?: string[]
  /** Whether people and places are loaded. Default: true. */
  contacts?: boolean
}

export interface ConfiguredSourceSystemGPipeline extends ConfiguredPipelineFields {
  type: "SOURCE_SYSTEM_G"
  apiSource: ApiLoginSourceBodyOfExport
  /** The number of the project. */
  project: string
  /** The XML form id. */
  form: string
  /** Whether deleted submissions are loaded and marked. */
  includeDeleted?: boolean
}

export interface ConfiguredSourceSystemGPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SOURCE_SYSTEM_G"
  apiSource: ApiLoginSourceBodyOfConfiguration
  /** The number of the project. */
  project: string
  /** The XML form id. */
  form: string
  /** Whether deleted submissions are loaded and marked. */
  includeDeleted?: boolean
}

export interface ConfiguredSourceSystemHPipeline extends ConfiguredPipelineFields {
  type: "SOURCE_SYSTEM_H"
  apiSource: ApiTokenSourceBodyOfExport
  /** Ids of facilities. */
  facilities: string[]
  /** Requisitions initiated since this day. */
  startDate: string
  /** Requisitions initiated until this day, inclusive. */
  endDate: string
}

export interface ConfiguredSourceSystemHPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SOURCE_SYSTEM_H"
  apiSource: ApiTokenSourceBodyOfConfiguration
  /** Ids of facilities. */
  facilities: string[]
  /** Requisitions initiated since this day. */
  startDate: string
  /** Requisitions initiated until this day, inclusive. */
  endDate: string
}

export interface ConfiguredSourceSystemIPipeline extends ConfiguredPipelineFields {
  type: "SOURCE_SYSTEM_I"
  apiSource: ApiLoginSourceBodyOfExport
  /** The kinds of records to load. Each becomes a table; nested lists become child tables. */
  entities: ("CASES" | "CONTACTS" | "EVENTS" | "EVENT_PARTICIPANTS" | "PERSONS" | "SAMPLES" | "PATHOGEN_TESTS" | "ADDITIONAL_TESTS" | "IMMUNIZATIONS" | "VISITS" | "TASKS" | "TREATMENTS" | "PRESCRIPTIONS" | "CLINICAL_VISITS" | "WEEKLY_REPORTS" | "ENVIRONMENTS" | "ENVIRONMENT_SAMPLES")[]
  /** Records changed since this day. */
  startDate?: string
}

export interface ConfiguredSourceSystemIPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SOURCE_SYSTEM_I"
  apiSource: ApiLoginSourceBodyOfConfiguration
  /** The kinds of records to load. Each becomes a table; nested lists become child tables. */
  entities: ("CASES" | "CONTACTS" | "EVENTS" | "EVENT_PARTICIPANTS" | "PERSONS" | "SAMPLES" | "PATHOGEN_TESTS" | "ADDITIONAL_TESTS" | "IMMUNIZATIONS" | "VISITS" | "TASKS" | "TREATMENTS" | "PRESCRIPTIONS" | "CLINICAL_VISITS" | "WEEKLY_REPORTS" | "ENVIRONMENTS" | "ENVIRONMENT_SAMPLES")[]
  /** Records changed since this day. */
  startDate?: string
}

export interface ConfiguredSqlDatabaseAPipeline extends ConfiguredPipelineFields {
  type: "SQL_DATABASE_A"
  jdbcSource: JdbcSourceBodyOfExport
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadataOfExport[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: IncrementalOfExport
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface ConfiguredSqlDatabaseAPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SQL_DATABASE_A"
  jdbcSource: JdbcSourceBodyOfConfiguration
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadataOfConfiguration[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: IncrementalOfConfiguration
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface ConfiguredSqlDatabaseBPipeline extends ConfiguredPipelineFields {
  type: "SQL_DATABASE_B"
  jdbcSource: JdbcSourceBodyOfExport
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadataOfExport[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: IncrementalOfExport
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface ConfiguredSqlDatabaseBPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SQL_DATABASE_B"
  jdbcSource: JdbcSourceBodyOfConfiguration
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadataOfConfiguration[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: IncrementalOfConfiguration
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface ConfiguredSqlDatabaseCPipeline extends ConfiguredPipelineFields {
  type: "SQL_DATABASE_C"
  jdbcSource: JdbcSourceBodyOfExport
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadataOfExport[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: IncrementalOfExport
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface ConfiguredSqlDatabaseCPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SQL_DATABASE_C"
  jdbcSource: JdbcSourceBodyOfConfiguration
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadataOfConfiguration[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: IncrementalOfConfiguration
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface ConfiguredSqlDatabaseDPipeline extends ConfiguredPipelineFields {
  type: "SQL_DATABASE_D"
  jdbcSource: JdbcSourceBodyOfExport
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadataOfExport[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: IncrementalOfExport
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface ConfiguredSqlDatabaseDPipelineBody extends ConfiguredPipelineBodyFields {
  type: "SQL_DATABASE_D"
  jdbcSource: JdbcSourceBodyOfConfiguration
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadataOfConfiguration[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: IncrementalOfConfiguration
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface ConfiguredUserAccess {
  username: string
  access?: "READ" | "READ_WRITE"
}

export interface ConfiguredVariable {
  name: string
  translations?: Translation[]
  /** Stored encrypted and never returned. */
  secured: boolean
  /** If omitted, the stored value stays. Required for a new variable, and to make a secured variable unsecured. */
  value?: string
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredVariableBody {
  name: string
  translations?: Translation[]
  /** Stored encrypted and never returned. */
  secured: boolean
  /** If omitted, the stored value stays. Required for a new variable, and to make a secured variable unsecured. */
  value?: string
  /** The former name of the object, to rename it. Ignored if an object with the new name exists and none with the former name. */
  was?: string
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredView {
  status?: ViewStatusBodyOfExport
  name: string
  translations?: Translation[]
  description?: string
  tags?: string[]
  /** One SELECT, VALUES, TABLE or WITH … SELECT, without variables. Names without a schema are searched in the schema of the view. */
  query: string
  /** Whether the rows of the view are stored, and refreshed by each run. */
  materialized: boolean
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  schema: NameReference
  /** The name of the view in the warehouse. Default: derived from the name of this object. */
  dataWarehouseViewName?: string
  /** Absent fields mean false. */
  anonymousAccess?: AnonymousAccessBody
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredViewBody {
  status?: ViewStatusBodyOfConfiguration
  name: string
  translations?: Translation[]
  description?: string
  tags?: string[]
  /** One SELECT, VALUES, TABLE or WITH … SELECT, without variables. Names without a schema are searched in the schema of the view. */
  query: string
  /** Whether the rows of the view are stored, and refreshed by each run. */
  materialized: boolean
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  schema: NameReference
  /** The name of the view in the warehouse. Default: derived from the name of this object. */
  dataWarehouseViewName?: string
  /** Absent fields mean false. */
  anonymousAccess?: AnonymousAccessBody
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** The former name of the object, to rename it. Ignored if an object with the new name exists and none with the former name. */
  was?: string
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredWarehouseAPipeline extends ConfiguredPipelineFields {
  type: "WAREHOUSE_A"
  jdbcSource: JdbcSourceBodyOfExport
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadataOfExport[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: IncrementalOfExport
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface ConfiguredWarehouseAPipelineBody extends ConfiguredPipelineBodyFields {
  type: "WAREHOUSE_A"
  jdbcSource: JdbcSourceBodyOfConfiguration
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadataOfConfiguration[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: IncrementalOfConfiguration
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface ConfiguredWorkflow {
  name: string
  translations?: Translation[]
  description?: string
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  /** Whether runs between two full loads are incremental, for jobs that support it. */
  continuouslyUpdated: boolean
  steps: WorkflowStepsBodyOfExport
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConfiguredWorkflowBody {
  name: string
  translations?: Translation[]
  description?: string
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  /** Whether runs between two full loads are incremental, for jobs that support it. */
  continuouslyUpdated: boolean
  steps: WorkflowStepsBodyOfConfiguration
  /** Absent fields keep their stored values. */
  access?: ConfiguredAccess
  /** The former name of the object, to rename it. Ignored if an object with the new name exists and none with the former name. */
  was?: string
  /** JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value. */
  redacted?: string[]
}

export interface ConnectionStrings {
  /** For psql, R, Python and other programs that use libpq. */
  libpq?: string
  /** For programs written in Java. */
  jdbc: string
  /** For Excel, Power BI and other programs with an ODBC driver. */
  odbc: string
  /** For pandas, Superset and other programs that use SQLAlchemy. */
  sqlalchemy: string
}

export interface CsvColumn {
  label?: string
  index?: number
  /** The name of the column in the warehouse. */
  name?: string
  /** The type of the column, instead of the detected one. */
  dataType?: "SMALLINT" | "INTEGER" | "BIGINT" | "DECIMAL" | "FLOAT" | "DOUBLE" | "BOOLEAN" | "CHARACTER_11" | "VARCHAR_50" | "VARCHAR_255" | "TEXT" | "DATE" | "TIMESTAMP" | "TIMESTAMPTZ" | "GEOMETRY" | "GEOMETRY_POINT" | "JSONB"
  precision?: number
  scale?: number
  dateFormat?: "YYYY-MM-DD" | "YYYY/MM/DD" | "YYYYMMDD" | "DD.MM.YYYY" | "DD/MM/YYYY" | "DD-MM-YYYY" | "MM/DD/YYYY" | "MM-DD-YYYY"
}

export interface CsvGuesses {
  delimiter: {
    value: string
    given: boolean
    confidence: number
  }
  quote: {
    value: "DOUBLE" | "SINGLE" | "NONE"
    given: boolean
    confidence: number
  }
  escape: {
    value: "DOUBLED" | "BACKSLASH"
    given: boolean
    confidence: number
  }
  recordEnds: {
    value: "LF" | "CRLF" | "CR" | "MIXED" | "NONE"
    given: boolean
    confidence: number
  }
  skipLines: {
    value: number
    given: boolean
    confidence: number
  }
  headerRow: {
    value: boolean
    given: boolean
    confidence: number
  }
  headerLines: {
    value: number
    given: boolean
    confidence: number
  }
  trailingDelimiters: {
    value: number
    given: boolean
    confidence: number
  }
  trimSpaces: {
    value: boolean
    given: boolean
    confidence: number
  }
  footerLines: {
    value: number
    given: boolean
    confidence: number
  }
  decimal: {
    value: "POINT" | "COMMA"
    given: boolean
    confidence: number
  }
  nullValues: {
    value: string[]
    given: boolean
    confidence: number
    suggested: string[]
  }
}

export interface CsvOptions {
  /** PIPE, COMMA, TAB, SEMI_COLON, or one ASCII sign. */
  delimiter?: string
  quote?: "DOUBLE" | "SINGLE" | "NONE"
  escape?: "DOUBLED" | "BACKSLASH"
  /** What happens to rows with broken quotes. TEXT treats an undoubled quote inside a quoted value as a part of the value, if the row can be read in only one such way. Default: REJECT. */
  strayQuotes?: "REJECT" | "TEXT"
  comment?: string
  headerRow?: boolean
  headerLines?: number
  skipLines?: number
  footerLines?: number
  /** Number of delimiters at the end of every row after the last column. */
  trailingDelimiters?: number
  /** Whether spaces at the start and the end of each field are removed, also outside its quotes. */
  trimSpaces?: boolean
  nullValues?: string[]
  decimal?: "POINT" | "COMMA"
  /** The name of the encoding in the WHATWG Encoding Standard. */
  encoding?: string
  /** For a workbook: the name of the sheet. Default: the first visible sheet with rows. */
  sheet?: string
  /** For a workbook: the position of the sheet, from 1, including hidden ones; replaces its name. */
  sheetNumber?: number
  /** For a zip archive with several files: the file to read. */
  entry?: string
  /** For a JSON document: the key whose value contains the rows. */
  rowsUnder?: string
  columns?: CsvColumn[]
}

export interface CsvOptionsOfConfiguration {
  /** PIPE, COMMA, TAB, SEMI_COLON, or one ASCII sign. */
  delimiter?: string
  quote?: "DOUBLE" | "SINGLE" | "NONE"
  escape?: "DOUBLED" | "BACKSLASH"
  /** What happens to rows with broken quotes. TEXT treats an undoubled quote inside a quoted value as a part of the value, if the row can be read in only one such way. Default: REJECT. */
  strayQuotes?: "REJECT" | "TEXT"
  comment?: string
  headerRow?: boolean
  headerLines?: number
  skipLines?: number
  footerLines?: number
  /** Number of delimiters at the end of every row after the last column. */
  trailingDelimiters?: number
  /** Whether spaces at the start and the end of each field are removed, also outside its quotes. */
  trimSpaces?: boolean
  nullValues?: string[]
  decimal?: "POINT" | "COMMA"
  /** The name of the encoding in the WHATWG Encoding Standard. */
  encoding?: string
  /** For a workbook: the name of the sheet. Default: the first visible sheet with rows. */
  sheet?: string
  /** For a workbook: the position of the sheet, from 1, including hidden ones; replaces its name. */
  sheetNumber?: number
  /** For a zip archive with several files: the file to read. */
  entry?: string
  /** For a JSON document: the key whose value contains the rows. */
  rowsUnder?: string
  columns?: CsvColumn[]
}

export interface CsvOptionsOfExport {
  /** PIPE, COMMA, TAB, SEMI_COLON, or one ASCII sign. */
  delimiter?: string
  quote?: "DOUBLE" | "SINGLE" | "NONE"
  escape?: "DOUBLED" | "BACKSLASH"
  /** What happens to rows with broken quotes. TEXT treats an undoubled quote inside a quoted value as a part of the value, if the row can be read in only one such way. Default: REJECT. */
  strayQuotes?: "REJECT" | "TEXT"
  comment?: string
  headerRow?: boolean
  headerLines?: number
  skipLines?: number
  footerLines?: number
  /** Number of delimiters at the end of every row after the last column. */
  trailingDelimiters?: number
  /** Whether spaces at the start and the end of each field are removed, also outside its quotes. */
  trimSpaces?: boolean
  nullValues?: string[]
  decimal?: "POINT" | "COMMA"
  /** The name of the encoding in the WHATWG Encoding Standard. */
  encoding?: string
  /** For a workbook: the name of the sheet. Default: the first visible sheet with rows. */
  sheet?: string
  /** For a workbook: the position of the sheet, from 1, including hidden ones; replaces its name. */
  sheetNumber?: number
  /** For a zip archive with several files: the file to read. */
  entry?: string
  /** For a JSON document: the key whose value contains the rows. */
  rowsUnder?: string
  columns?: CsvColumn[]
}

export interface CsvUploadPipeline extends DataPipelineFields {
  type: "CSV_UPLOAD"
  csvOptions?: CsvOptions
  file?: UploadedFile
}

export interface CsvUploadPipelineBody extends DataPipelineBodyFields {
  type?: "CSV_UPLOAD"
  csvOptions?: CsvOptions
}

export interface CsvUploadSourceBody extends SourceBodyFields {
  type: "CSV_UPLOAD"
  csvOptions?: CsvOptions
}

export interface CursorResetBody {
  /** The next incremental run reads the changes since this time. Without it, the next run reads everything. */
  from?: string
}

export type DataPipeline =
  | CloudBlobStoragePipeline
  | SourceSystemAPipeline
  | SourceSystemBPipeline
  | CsvUploadPipeline
  | SourceSystemCPipeline
  | FunctionPipeline
  | FhirPipeline
  | OnlineSpreadsheetPipeline
  | SourceSystemDPipeline
  | SourceSystemEPipeline
  | SourceSystemFPipeline
  | SqlDatabaseAPipeline
  | SqlDatabaseBPipeline
  | SourceSystemGPipeline
  | SourceSystemHPipeline
  | SqlDatabaseCPipeline
  | ParquetUploadPipeline
  | SqlDatabaseDPipeline
  | PublicDatasetPipeline
  | WarehouseAPipeline
  | ObjectStorageBucketPipeline
  | SourceSystemIPipeline

export type DataPipelineBody =
  | CloudBlobStoragePipelineBody
  | SourceSystemAPipelineBody
  | SourceSystemBPipelineBody
  | CsvUploadPipelineBody
  | SourceSystemCPipelineBody
  | FunctionPipelineBody
  | FhirPipelineBody
  | OnlineSpreadsheetPipelineBody
  | SourceSystemDPipelineBody
  | SourceSystemEPipelineBody
  | SourceSystemFPipelineBody
  | SqlDatabaseAPipelineBody
  | SqlDatabaseBPipelineBody
  | SourceSystemGPipelineBody
  | SourceSystemHPipelineBody
  | SqlDatabaseCPipelineBody
  | ParquetUploadPipelineBody
  | SqlDatabaseDPipelineBody
  | PublicDatasetPipelineBody
  | WarehouseAPipelineBody
  | ObjectStorageBucketPipelineBody
  | SourceSystemIPipelineBody

export interface DataPipelineBodyFields {
  name: string
  translations?: Translation[]
  description?: string
  owner?: string
  url?: string
  reference?: string
  source?: string
  termsOfUse?: string
  tags?: string[]
  /** The policy for changed columns of the source. EVOLVE, the default, adds new columns, widens types and keeps removed columns without values. IGNORE_NEW does not load new columns. FAIL rejects every change. REPLACE gives the table the columns and types of each load. */
  schemaChanges?: "EVOLVE" | "IGNORE_NEW" | "FAIL" | "REPLACE"
  /** The mode in which a run writes its rows. REPLACE, the default, replaces all rows of the table. APPEND adds rows, and adds each uploaded file or object of an object store only once. MERGE replaces the rows with the same mergeKey and adds the others; rows that the source no longer has stay. A run with `rebuild` replaces all rows in every mode. */
  writeMode?: "REPLACE" | "APPEND" | "MERGE"
  /** For writeMode MERGE: the columns that identify a row, by their names in the table or in the source. Required if the source has no key. Their values are never null, and no two rows of a load have the same values in all of them. */
  mergeKey?: string[]
  transformation?: TransformationBody
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  dataQualityCheckGroup?: Reference | null
  /** Absent fields mean false. */
  anonymousAccess?: AnonymousAccessBody
  access?: AccessPart
  dataWarehouseTarget: DataWarehouseTargetBody
}

export interface DataPipelineFields {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  client: string
  name: string
  translations?: Translation[]
  description?: string
  owner?: string
  url?: string
  reference?: string
  source?: string
  termsOfUse?: string
  tags?: string[]
  /** The policy for changed columns of the source. EVOLVE, the default, adds new columns, widens types and keeps removed columns without values. IGNORE_NEW does not load new columns. FAIL rejects every change. REPLACE gives the table the columns and types of each load. */
  schemaChanges?: "EVOLVE" | "IGNORE_NEW" | "FAIL" | "REPLACE"
  /** The mode in which a run writes its rows. REPLACE, the default, replaces all rows of the table. APPEND adds rows, and adds each uploaded file or object of an object store only once. MERGE replaces the rows with the same mergeKey and adds the others; rows that the source no longer has stay. A run with `rebuild` replaces all rows in every mode. */
  writeMode?: "REPLACE" | "APPEND" | "MERGE"
  /** For writeMode MERGE: the columns that identify a row, by their names in the table or in the source. Required if the source has no key. Their values are never null, and no two rows of a load have the same values in all of them. */
  mergeKey?: string[]
  transformation?: Transformation
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated: boolean
  triggerExpression?: string
  scheduleable: boolean
  dataQualityCheckGroup?: {
    id: string
    name: string
  }
  anonymousAccess: AnonymousAccess
  access: Access
  dataWarehouseTarget: DataWarehouseTarget
  status: DataPipelineStatus
  typeName: string
  typeKey: string
  dataWarehouseTargetSchemaName: string
  dataWarehouseTargetTableName: string
  dataPipelineSourceName?: string
  displayDescription?: string
  tagString?: string
  /** Whether the pipeline has loaded rows, which you can download with GET …/data?format=csv. */
  dataDownload: boolean
}

export interface DataPipelineStatus {
  lastRunStatus: "OK" | "WARNING" | "FAILED" | "RUNNING" | "QUEUED" | "CANCELLED" | "NEVER_RUN"
  lastRunSuccess?: string
  lastRun?: string
  nextFullReplaceRun?: string
  lastRunDuration?: string
  jobId?: string
  taskId?: string
  progress?: Progress
  tables: TableSummary[]
  mainTableAsTable?: Table
}

export interface DataPipelinesBody {
  dataPipelines: DataPipelineBody[]
}

export interface DataQualityCheck {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  client: string
  name: string
  translations?: LabelledTranslation[]
  shortName: string
  labels: Label[]
  description?: string
  displayLabels: Label[]
  displayShortName: string
  displayDescription?: string
  access: Access
  code: string
  /** One SELECT that returns the violations as rows. `${name}` is replaced by the value of a variable. Tables without a schema are searched in all schemas; a table name that exists in several schemas is rejected. */
  query: string
}

export interface DataQualityCheckBody {
  name: string
  translations?: LabelledTranslation[]
  shortName: string
  labels?: LabelBody[]
  description?: string
  code: string
  /** One SELECT that returns the violations as rows. `${name}` is replaced by the value of a variable. Tables without a schema are searched in all schemas; a table name that exists in several schemas is rejected. */
  query: string
  access?: AccessPart
}

export interface DataQualityCheckGroup {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  client: string
  name: string
  translations?: LabelledTranslation[]
  shortName: string
  labels: Label[]
  description?: string
  displayLabels: Label[]
  displayShortName: string
  displayDescription?: string
  access: Access
  dataQualityChecks: ReferencedCheck[]
}

export interface DataQualityCheckGroupBody {
  name: string
  translations?: LabelledTranslation[]
  shortName: string
  labels?: LabelBody[]
  description?: string
  dataQualityChecks?: Reference[]
  access?: AccessPart
}

export interface DataQualityCheckGroupsBody {
  dataQualityCheckGroups: DataQualityCheckGroupBody[]
}

export interface DataQualityChecksBody {
  dataQualityChecks: DataQualityCheckBody[]
}

export interface DataQuery {
  page?: number
  pageSize?: number
  /** Returns all rows as a file: csv, ndjson, parquet, arrow or xlsx. json, the default, returns a page. Takes precedence over the Accept header. */
  format?: string
  /** For csv: excel has a byte order mark, semicolons and decimal commas, and an apostrophe before texts that Excel would run as formulas. */
  dialect?: "rfc4180" | "excel"
  /** For csv and for a page: whether columns with a `sourceFormat` have their values as the loaded files print them. Default: false. */
  sourceFormats?: boolean
}

export interface DataWarehouseTarget {
  schema: ReferencedSchema
  tableName: string
  /** The table with the unpublished rows of a current run, or of a failed run whose rows are retained. Only the response for a single pipeline contains it. */
  stagingTableName?: string
  tableSchema: string
}

export interface DataWarehouseTargetBody {
  schema: SchemaReference
  tableName?: string
}

export interface DataWarehouseTargetBodyOfConfiguration {
  schema: NameReference
  tableName?: string
}

export interface DataWarehouseTargetBodyOfExport {
  schema: NameReference
  tableName?: string
}

export interface DeletedClient {
  id: string
  code: string
  name: string
  deleted: string
  /** The time when maintenance erases the data. You can erase it earlier. */
  eraseAfter: string
}

export interface Destination {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  client: string
  name: string
  translations?: Translation[]
  description?: string
  importOptions: ImportOptions
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated: boolean
  triggerExpression?: string
  scheduleable: boolean
  type: "SOURCE_SYSTEM_C"
  viewSource: ReferencedView
  apiTarget?: ApiTarget
  apiTokenTarget?: ApiTokenTarget
  status: RunStatus
  access: Access
  displayDescription?: string
}

export interface DestinationBody {
  name: string
  translations?: Translation[]
  description?: string
  importOptions?: ImportOptions
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  type?: "SOURCE_SYSTEM_C"
  viewSource: ViewReference
  apiTarget?: ApiTargetBody
  apiTokenTarget?: ApiTokenTargetBody
  access?: AccessPart
}

export interface DestinationsBody {
  destinations: DestinationBody[]
}

export interface ExplainBody {
  /** One SELECT, VALUES, TABLE or WITH … SELECT in the syntax of the warehouse. `${name}` is the value of a variable. */
  sql: string
  /** The schemas in which tables without a schema are searched, in this order. Default: all schemas of the organisation; a table name that several of them have is then rejected. */
  schemas?: QueriedSchema[]
  /** Values for this query. Other variables have their stored values; secured variables need a value here. */
  variables?: QueryVariable[]
}

export interface ExplainedQuery {
  summary: string
  /** The tables and views that the query reads. */
  tables: QueriedTable[]
  /** The rows of the result, as the warehouse estimates them. Absent if it has no estimate. */
  estimatedRows?: number
  /** The plan as the warehouse prints it. */
  plan: string
}

export interface ExportQuery {
  /** The kinds to export. Default: all kinds that you may see. */
  kinds?: ("schemas" | "variables" | "dataQualityChecks" | "dataQualityCheckGroups" | "dataPipelines" | "views" | "destinations" | "workflows")[]
}

export interface FhirPipeline extends DataPipelineFields {
  type: "FHIR"
  apiSource: ClinicalApiSource
  /** SEARCH reads page by page. BULK_EXPORT reads an export that the server prepares. Default: SEARCH. */
  method?: "SEARCH" | "BULK_EXPORT"
  /** The resource types to load. Each becomes a table. */
  resourceTypes: string[]
  /** Query parameters that limit the loaded resources, without the question mark. */
  search?: string
  /** For an export: only the members of this group. */
  group?: string
  /** ViewDefinitions of SQL on FHIR. Each one defines the columns of a table. Other types are loaded without a definition. */
  views?: ViewDefinition[]
}

export interface FhirPipelineBody extends DataPipelineBodyFields {
  type?: "FHIR"
  apiSource: ClinicalApiSourceBody
  /** SEARCH reads page by page. BULK_EXPORT reads an export that the server prepares. Default: SEARCH. */
  method?: "SEARCH" | "BULK_EXPORT"
  /** The resource types to load. Each becomes a table. */
  resourceTypes: string[]
  /** Query parameters that limit the loaded resources, without the question mark. */
  search?: string
  /** For an export: only the members of this group. */
  group?: string
  /** ViewDefinitions of SQL on FHIR. Each one defines the columns of a table. Other types are loaded without a definition. */
  views?: ViewDefinition[]
}

export interface FhirSourceBody extends SourceBodyFields {
  type: "FHIR"
  apiSource: ClinicalApiSourceBody
  /** SEARCH reads page by page. BULK_EXPORT reads an export that the server prepares. Default: SEARCH. */
  method?: "SEARCH" | "BULK_EXPORT"
  /** The resource types to load. Each becomes a table. */
  resourceTypes: string[]
  /** Query parameters that limit the loaded resources, without the question mark. */
  search?: string
  /** For an export: only the members of this group. */
  group?: string
  /** ViewDefinitions of SQL on FHIR. Each one defines the columns of a table. Other types are loaded without a definition. */
  views?: ViewDefinition[]
}

export interface FieldChange {
  pointer: string
  /** The value as JSON. A value of more than 1,000 characters is cut and ends with an ellipsis. */
  before?: string
  /** The value as JSON. A value of more than 1,000 characters is cut and ends with an ellipsis. */
  after?: string
}

export interface FilePreviewQuery {
  /** Default: CSV_UPLOAD. */
  type?: "CSV_UPLOAD" | "PARQUET_UPLOAD"
  /** The file's name. */
  name?: string
  /** Default: 100. */
  rows?: number
  /** PIPE, COMMA, TAB, SEMI_COLON, or one ASCII sign. */
  delimiter?: string
  quote?: "DOUBLE" | "SINGLE" | "NONE"
  escape?: "DOUBLED" | "BACKSLASH"
  /** What happens to rows with broken quotes. TEXT treats an undoubled quote inside a quoted value as a part of the value, if the row can be read in only one such way. Default: REJECT. */
  strayQuotes?: "REJECT" | "TEXT"
  comment?: string
  headerRow?: boolean
  headerLines?: number
  skipLines?: number
  footerLines?: number
  /** Number of delimiters at the end of every row after the last column. */
  trailingDelimiters?: number
  /** Whether spaces at the start and the end of each field are removed, also outside its quotes. */
  trimSpaces?: boolean
  nullValues?: string[]
  decimal?: "POINT" | "COMMA"
  /** The name of the encoding in the WHATWG Encoding Standard. */
  encoding?: string
  /** For a workbook: the name of the sheet. Default: the first visible sheet with rows. */
  sheet?: string
  /** For a workbook: the position of the sheet, from 1, including hidden ones; replaces its name. */
  sheetNumber?: number
  /** For a zip archive with several files: the file to read. */
  entry?: string
  /** For a JSON document: the key whose value contains the rows. */
  rowsUnder?: string
}

export interface ForeignKey {
  column: string
  referencedSchema: string
  referencedTable: string
  referencedColumn: string
}

export interface FrequentValue {
  /** Cut to 64 bytes. */
  value: string
  /** The length of the whole value in bytes, if `value` is cut. */
  bytes?: number
  /** The number of rows with the value: exact, or an estimate if `atLeast` is present. */
  rows: number
  /** How many rows of the sample have the value. */
  atLeast?: number
}

export interface FunctionPipeline extends DataPipelineFields {
  type: "FUNCTION"
  functionSource: FunctionPlace
  /** The parameters of each call, in addition to the cursor. */
  payload?: Payload
  /** Reads the records of a REST API at the address, instead of calling a function. */
  restApi?: RestApi
}

export interface FunctionPipelineBody extends DataPipelineBodyFields {
  type?: "FUNCTION"
  functionSource: FunctionPlaceBody
  /** The parameters of each call, in addition to the cursor. */
  payload?: Payload
  /** Reads the records of a REST API at the address, instead of calling a function. */
  restApi?: RestApi
}

export interface FunctionPlace {
  /** The address of the function; with the name of a function, the endpoint of AWS Lambda. */
  url?: string
  /** The name or ARN of a function of AWS Lambda. Absent if `url` is the address of the function. */
  functionName?: string
  /** The version or alias in AWS Lambda. */
  qualifier?: string
  /** The region of AWS Lambda. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
  /** The name of the header that carries the token. Default: `Authorization`, with a bearer token. */
  headerName?: string
  /** With restApi: the query parameter that carries the token, instead of a header. */
  parameterName?: string
  /** With restApi: the account that has the token as its password (HTTP Basic). */
  username?: string
  /** Which secrets are stored. */
  secretStatus: {
    authToken: SecretStatus
    accessKey: SecretStatus
    secretKey: SecretStatus
  }
}

export interface FunctionPlaceBody {
  /** The address of the function; with the name of a function, the endpoint of AWS Lambda. */
  url?: string
  /** The name or ARN of a function of AWS Lambda. Absent if `url` is the address of the function. */
  functionName?: string
  /** The version or alias in AWS Lambda. */
  qualifier?: string
  /** The region of AWS Lambda. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
  /** The name of the header that carries the token. Default: `Authorization`, with a bearer token. */
  headerName?: string
  /** With restApi: the query parameter that carries the token, instead of a header. */
  parameterName?: string
  /** With restApi: the account that has the token as its password (HTTP Basic). */
  username?: string
  /** The token for the address. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
  /** The id of the access key of AWS Lambda. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  accessKey?: string | null
  /** The secret key of the access key. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  secretKey?: string | null
}

export interface FunctionPlaceBodyOfConfiguration {
  /** The address of the function; with the name of a function, the endpoint of AWS Lambda. */
  url?: string
  /** The name or ARN of a function of AWS Lambda. Absent if `url` is the address of the function. */
  functionName?: string
  /** The version or alias in AWS Lambda. */
  qualifier?: string
  /** The region of AWS Lambda. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
  /** The name of the header that carries the token. Default: `Authorization`, with a bearer token. */
  headerName?: string
  /** With restApi: the query parameter that carries the token, instead of a header. */
  parameterName?: string
  /** With restApi: the account that has the token as its password (HTTP Basic). */
  username?: string
  /** The token for the address. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
  /** The id of the access key of AWS Lambda. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  accessKey?: string | null
  /** The secret key of the access key. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  secretKey?: string | null
}

export interface FunctionPlaceBodyOfExport {
  /** The address of the function; with the name of a function, the endpoint of AWS Lambda. */
  url?: string
  /** The name or ARN of a function of AWS Lambda. Absent if `url` is the address of the function. */
  functionName?: string
  /** The version or alias in AWS Lambda. */
  qualifier?: string
  /** The region of AWS Lambda. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
  /** The name of the header that carries the token. Default: `Authorization`, with a bearer token. */
  headerName?: string
  /** With restApi: the query parameter that carries the token, instead of a header. */
  parameterName?: string
  /** With restApi: the account that has the token as its password (HTTP Basic). */
  username?: string
}

export interface FunctionSourceBody extends SourceBodyFields {
  type: "FUNCTION"
  functionSource: FunctionPlaceBody
  /** The parameters of each call, in addition to the cursor. */
  payload?: Payload
  /** Reads the records of a REST API at the address, instead of calling a function. */
  restApi?: RestApi
}

export interface GroupResult {
  name: string
  status: "OK" | "FAILED" | "ERROR"
  message: string
  taskId: string
  completedAt: string
  variables: RunVariable[]
  results: CheckResult[]
}

export interface Header {
  name: string
  column: string
  valueType: "SMALLINT" | "INTEGER" | "BIGINT" | "DECIMAL" | "FLOAT" | "DOUBLE" | "BOOLEAN" | "CHARACTER_11" | "VARCHAR_50" | "VARCHAR_255" | "TEXT" | "DATE" | "TIMESTAMP" | "TIMESTAMPTZ" | "GEOMETRY" | "GEOMETRY_POINT" | "JSONB"
  hidden: boolean
  meta: boolean
}

/** Only in columns of numbers, dates and times. */
export interface Histogram {
  /** The bounds of buckets of equal width. Each bucket includes its lower bound and excludes its upper bound; the last bucket includes both. */
  bounds: string[]
  /** The number of rows in each bucket. Their sum is the number of rows with a finite value. */
  rows: number[]
}

export interface ImportOptions {
  /** The identifiers in the view: UID, CODE, NAME or ATTRIBUTE: with the id of an attribute. */
  dataElementIdScheme?: string
  /** The identifiers in the view: UID, CODE, NAME or ATTRIBUTE: with the id of an attribute. */
  orgUnitIdScheme?: string
  /** The identifiers in the view: UID, CODE, NAME or ATTRIBUTE: with the id of an attribute. */
  categoryOptionComboIdScheme?: string
  /** The default for the other identifier schemes. Default: `UID`. */
  idScheme?: string
  /** Whether DHIS2 only checks the values and stores nothing. Default: false. */
  dryRun?: boolean
}

/** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
export interface Incremental {
  /** The column that each change of a row increases: a date, a timestamp, an integer or a decimal. */
  cursorColumn: string
  /** The columns that identify a row. They are never null, and their values never change. */
  key: string[]
  /** How far before the largest cursor an increment starts to read, because rows may become visible late: in seconds for a date or timestamp, otherwise as a difference of numbers. Default: 0. */
  lookback?: number
  /** The column that marks deleted rows by true, by a number other than 0, or by a date or timestamp. Marked rows are not loaded, and an increment deletes them. */
  deletedColumn?: string
}

/** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
export interface IncrementalOfConfiguration {
  /** The column that each change of a row increases: a date, a timestamp, an integer or a decimal. */
  cursorColumn: string
  /** The columns that identify a row. They are never null, and their values never change. */
  key: string[]
  /** How far before the largest cursor an increment starts to read, because rows may become visible late: in seconds for a date or timestamp, otherwise as a difference of numbers. Default: 0. */
  lookback?: number
  /** The column that marks deleted rows by true, by a number other than 0, or by a date or timestamp. Marked rows are not loaded, and an increment deletes them. */
  deletedColumn?: string
}

/** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
export interface IncrementalOfExport {
  /** The column that each change of a row increases: a date, a timestamp, an integer or a decimal. */
  cursorColumn: string
  /** The columns that identify a row. They are never null, and their values never change. */
  key: string[]
  /** How far before the largest cursor an increment starts to read, because rows may become visible late: in seconds for a date or timestamp, otherwise as a difference of numbers. Default: 0. */
  lookback?: number
  /** The column that marks deleted rows by true, by a number other than 0, or by a date or timestamp. Marked rows are not loaded, and an increment deletes them. */
  deletedColumn?: string
}

/** The increments of this table. Default: `incremental` of the pipeline. */
export interface IncrementalRead {
  /** The column that each change of a row increases: a date, a timestamp, an integer or a decimal. */
  cursorColumn: string
  /** The columns that identify a row. They are never null, and their values never change. */
  key: string[]
  /** How far before the largest cursor an increment starts to read, because rows may become visible late: in seconds for a date or timestamp, otherwise as a difference of numbers. Default: 0. */
  lookback?: number
  /** The column that marks deleted rows by true, by a number other than 0, or by a date or timestamp. Marked rows are not loaded, and an increment deletes them. */
  deletedColumn?: string
}

/** The increments of this table. Default: `incremental` of the pipeline. */
export interface IncrementalReadOfConfiguration {
  /** The column that each change of a row increases: a date, a timestamp, an integer or a decimal. */
  cursorColumn: string
  /** The columns that identify a row. They are never null, and their values never change. */
  key: string[]
  /** How far before the largest cursor an increment starts to read, because rows may become visible late: in seconds for a date or timestamp, otherwise as a difference of numbers. Default: 0. */
  lookback?: number
  /** The column that marks deleted rows by true, by a number other than 0, or by a date or timestamp. Marked rows are not loaded, and an increment deletes them. */
  deletedColumn?: string
}

/** The increments of this table. Default: `incremental` of the pipeline. */
export interface IncrementalReadOfExport {
  /** The column that each change of a row increases: a date, a timestamp, an integer or a decimal. */
  cursorColumn: string
  /** The columns that identify a row. They are never null, and their values never change. */
  key: string[]
  /** How far before the largest cursor an increment starts to read, because rows may become visible late: in seconds for a date or timestamp, otherwise as a difference of numbers. Default: 0. */
  lookback?: number
  /** The column that marks deleted rows by true, by a number other than 0, or by a date or timestamp. Marked rows are not loaded, and an increment deletes them. */
  deletedColumn?: string
}

export interface JdbcSource {
  /** A host name or IP address, without port and scheme. */
  hostname: string
  /** Default: the standard port of the system. */
  port?: number
  /** The name of the database; for Oracle, of the service. */
  database: string
  /** An account with read access is sufficient. */
  username: string
  /** Connect by TLS only. Default: false. */
  ssl?: boolean
  /** With TLS: accept any certificate of the server. Default: false. */
  trustServerCertificate?: boolean
  /** Which secrets are stored. */
  secretStatus: {
    password: SecretStatus
  }
}

export interface JdbcSourceBody {
  /** A host name or IP address, without port and scheme. */
  hostname: string
  /** Default: the standard port of the system. */
  port?: number
  /** The name of the database; for Oracle, of the service. */
  database: string
  /** An account with read access is sufficient. */
  username: string
  /** Connect by TLS only. Default: false. */
  ssl?: boolean
  /** With TLS: accept any certificate of the server. Default: false. */
  trustServerCertificate?: boolean
  /** The password of the account. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  password?: string | null
}

export interface JdbcSourceBodyOfConfiguration {
  /** A host name or IP address, without port and scheme. */
  hostname: string
  /** Default: the standard port of the system. */
  port?: number
  /** The name of the database; for Oracle, of the service. */
  database: string
  /** An account with read access is sufficient. */
  username: string
  /** Connect by TLS only. Default: false. */
  ssl?: boolean
  /** With TLS: accept any certificate of the server. Default: false. */
  trustServerCertificate?: boolean
  /** The password of the account. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  password?: string | null
}

export interface JdbcSourceBodyOfExport {
  /** A host name or IP address, without port and scheme. */
  hostname: string
  /** Default: the standard port of the system. */
  port?: number
  /** The name of the database; for Oracle, of the service. */
  database: string
  /** An account with read access is sufficient. */
  username: string
  /** Connect by TLS only. Default: false. */
  ssl?: boolean
  /** With TLS: accept any certificate of the server. Default: false. */
  trustServerCertificate?: boolean
}

export interface Job {
  jobType: "DATA_PIPELINE_LOAD" | "VIEW_REFRESH" | "DATA_QUALITY_CHECK_GROUP_RUN" | "DESTINATION_PUSH"
  object: JobObject
  id: string
  dataPipelineType?: "CLOUD_BLOB_STORAGE" | "SOURCE_SYSTEM_A" | "SOURCE_SYSTEM_B" | "CSV_UPLOAD" | "SOURCE_SYSTEM_C" | "FUNCTION" | "FHIR" | "ONLINE_SPREADSHEET" | "SOURCE_SYSTEM_D" | "SOURCE_SYSTEM_E" | "SOURCE_SYSTEM_F" | "SQL_DATABASE_A" | "SQL_DATABASE_B" | "SOURCE_SYSTEM_G" | "SOURCE_SYSTEM_H" | "SQL_DATABASE_C" | "PARQUET_UPLOAD" | "SQL_DATABASE_D" | "PUBLIC_DATASET" | "WAREHOUSE_A" | "OBJECT_STORAGE_BUCKET" | "SOURCE_SYSTEM_I"
}

export interface JobBody {
  /** The type of job. Default: the type of the object. */
  jobType?: "DATA_PIPELINE_LOAD" | "VIEW_REFRESH" | "DATA_QUALITY_CHECK_GROUP_RUN" | "DESTINATION_PUSH"
  object?: JobObjectBody
  /** The id of the job. Without `object`, it is the id of the object that the job runs. */
  id?: string
}

export interface JobObject {
  /** The internal number of the object. Use the uid instead. */
  id?: number
  uid: string
  name: string
  translations?: TranslationOfObject[]
  created?: string
}

export interface JobObjectBody {
  uid?: string
  id?: number
}

export interface Label {
  key: string
  value: string
}

export interface LabelBody {
  key: string
  /** Default: an empty text. */
  value?: string
}

export interface LabelledTranslation {
  locale: string
  property: string
  value: string
}

export interface Lineage {
  /** The first 1,000 objects that this object reads, runs or contains. */
  reads: LineageObject[]
  /** The first 1,000 objects that read, run or contain this object and that the caller may see. */
  readBy: LineageObject[]
  /** The number of further objects in `readBy` that are not shared with the caller. */
  hiddenReaders: number
}

export interface LineageObject {
  kind: "DATA_PIPELINE" | "VIEW" | "DESTINATION" | "DATA_QUALITY_CHECK_GROUP" | "WORKFLOW" | "DATA_QUALITY_CHECK" | "PUBLIC_DATASET" | "TABLE" | "EXTERNAL_VIEW"
  /** Absent for PUBLIC_DATASET, TABLE and EXTERNAL_VIEW. */
  id?: string
  name: string
  /** The schema of the table or view that is read. */
  schema?: string
  /** The table or view in the warehouse that is read. */
  table?: string
}

export interface ListQuery {
  query?: string
  filter?: string[]
  order?: string[]
  rootJunction?: "AND" | "OR"
  page?: number
  pageSize?: number
  /** The cursor of the previous page, from its header X-Next-Cursor. Filters and order must stay the same. */
  after?: string
  paging?: boolean
  total?: boolean
  locale?: string
}

export interface LogEntry {
  id: string
  created: string
  lastUpdated: string
  client: string
  dataPipeline: string
  taskId: string
  logLevel: "DEBUG" | "INFO" | "WARN" | "ERROR"
  logImportance: "LOW" | "MEDIUM" | "HIGH"
  message: string
}

export interface LogQuery {
  taskId?: string
  logLevel?: "DEBUG" | "INFO" | "WARN" | "ERROR"
  logImportance?: "LOW" | "MEDIUM" | "HIGH"
  order?: "ASC" | "DESC"
  page?: number
  pageSize?: number
}

export interface LogStreamQuery {
  /** One run; the stream ends when the run ends. */
  taskId?: string
  logLevel?: "DEBUG" | "INFO" | "WARN" | "ERROR"
  logImportance?: "LOW" | "MEDIUM" | "HIGH"
}

export interface LookedUp {
  id: string
  code: string
  name: string
}

export interface NameReference {
  name: string
}

export interface NameTranslation {
  locale: string
  property: "name" | "NAME"
  value: string
}

export interface NewWarehouseReader {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  client: string
  name: string
  translations?: NameTranslation[]
  /** The login ends at this time. Default: never. */
  expires?: string
  /** The networks from which the login may connect, as CIDR blocks. An empty list allows all networks. Setting it needs ROLE_MANAGE_FIREWALL_RULE, and seeing it ROLE_SEE_FIREWALL_RULE. If omitted, the stored list stays. */
  networks?: string[]
  schemas: ReferencedSchema[]
  /** ACTIVE: the login works as described here. PENDING: the last change is stored, and the warehouse does not have it yet; a worker tries again every five seconds. EXPIRED: the time in `expires` has passed. */
  readerStatus: "ACTIVE" | "EXPIRED" | "PENDING"
  /** The last time at which a worker saw an open session. It can be a minute too early, and sessions of less than five seconds may be missed. */
  lastUsed?: string
  connection: ReaderConnection
  /** The password of the reader. Only this response contains it. */
  password: string
  connectionStrings: ConnectionStrings
}

export interface ObjectRun {
  taskId: string
  status: "OK" | "WARNING" | "FAILED" | "RUNNING" | "QUEUED" | "CANCELLED" | "NEVER_RUN"
  trigger: "MANUAL" | "SCHEDULE" | "WORKFLOW"
  /** The requested mode. The log shows if it was not possible. */
  mode: "FULL" | "INCREMENTAL"
  /** RUN. Data pipelines also have DRY_RUN, which publishes nothing, and RESTORE, which publishes the rows before the last publication. */
  action: "RUN" | "DRY_RUN" | "RESTORE"
  /** The scheduled time of the run. */
  scheduledFor?: string
  attempt: number
  created: string
  started?: string
  finished?: string
  duration?: string
  startedBy?: string
  /** The uploaded file of the run. */
  file?: RunFile
  progress: Progress
  rowsWritten?: number
  bytesWritten?: number
  message?: string
  errorCode?: string
  object: RunnableObject
}

export interface ObjectStorageBucketPipeline extends DataPipelineFields {
  type: "OBJECT_STORAGE_BUCKET"
  objectStoreSource: ObjectStoreSource
  /** The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}. */
  key: string
  /** The delimiter of delimited text. Ignored for other formats. */
  delimiter: "PIPE" | "COMMA" | "TAB" | "SEMI_COLON"
  csvOptions?: CsvOptions
}

export interface ObjectStorageBucketPipelineBody extends DataPipelineBodyFields {
  type?: "OBJECT_STORAGE_BUCKET"
  objectStoreSource: ObjectStoreSourceBody
  /** The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}. */
  key: string
  /** The delimiter of delimited text. Ignored for other formats. */
  delimiter: "PIPE" | "COMMA" | "TAB" | "SEMI_COLON"
  csvOptions?: CsvOptions
}

export interface ObjectStorageBucketSourceBody extends SourceBodyFields {
  type: "OBJECT_STORAGE_BUCKET"
  objectStoreSource: ObjectStoreSourceBody
  /** The key of one object, a folder that ends with a slash, or a pattern with *, **, ?, [] and {}. */
  key: string
  /** The delimiter of delimited text. Ignored for other formats. */
  delimiter: "PIPE" | "COMMA" | "TAB" | "SEMI_COLON"
  csvOptions?: CsvOptions
}

export interface ObjectStoreSource {
  /** The name of the bucket. */
  bucket?: string
  /** A field of older clients. Sluice stores it and does not use it; the key selects the objects to load. */
  objectKey?: string
  /** The region of the bucket. Default: detected. */
  region?: string
  /** The endpoint of an S3-compatible store. Default: Amazon S3. */
  endpoint?: string
  /** Whether the bucket is part of the URL path (path-style), as many S3-compatible stores require. */
  pathStyle?: boolean
  /** Which secrets are stored. */
  secretStatus: {
    accessKey: SecretStatus
    secretKey: SecretStatus
  }
}

export interface ObjectStoreSourceBody {
  /** The name of the bucket. */
  bucket?: string
  /** A field of older clients. Sluice stores it and does not use it; the key selects the objects to load. */
  objectKey?: string
  /** The region of the bucket. Default: detected. */
  region?: string
  /** The endpoint of an S3-compatible store. Default: Amazon S3. */
  endpoint?: string
  /** Whether the bucket is part of the URL path (path-style), as many S3-compatible stores require. */
  pathStyle?: boolean
  /** The id of the key. Without keys, only public objects are read. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  accessKey?: string | null
  /** The secret key of the access key. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  secretKey?: string | null
}

export interface ObjectStoreSourceBodyOfConfiguration {
  /** The name of the bucket. */
  bucket?: string
  /** A field of older clients. Sluice stores it and does not use it; the key selects the objects to load. */
  objectKey?: string
  /** The region of the bucket. Default: detected. */
  region?: string
  /** The endpoint of an S3-compatible store. Default: Amazon S3. */
  endpoint?: string
  /** Whether the bucket is part of the URL path (path-style), as many S3-compatible stores require. */
  pathStyle?: boolean
  /** The id of the key. Without keys, only public objects are read. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  accessKey?: string | null
  /** The secret key of the access key. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  secretKey?: string | null
}

export interface ObjectStoreSourceBodyOfExport {
  /** The name of the bucket. */
  bucket?: string
  /** A field of older clients. Sluice stores it and does not use it; the key selects the objects to load. */
  objectKey?: string
  /** The region of the bucket. Default: detected. */
  region?: string
  /** The endpoint of an S3-compatible store. Default: Amazon S3. */
  endpoint?: string
  /** Whether the bucket is part of the URL path (path-style), as many S3-compatible stores require. */
  pathStyle?: boolean
}

export interface OnlineSpreadsheetPipeline extends DataPipelineFields {
  type: "ONLINE_SPREADSHEET"
  spreadsheetSource: SpreadsheetSource
  /** The name of the sheet. Default: the first sheet. */
  sheet?: string
  /** The range of cells to load. Default: all cells. */
  range?: string
  /** Whether the first row contains the column names. Default: true. */
  headerRow?: boolean
}

export interface OnlineSpreadsheetPipelineBody extends DataPipelineBodyFields {
  type?: "ONLINE_SPREADSHEET"
  spreadsheetSource: SpreadsheetSourceBody
  /** The name of the sheet. Default: the first sheet. */
  sheet?: string
  /** The range of cells to load. Default: all cells. */
  range?: string
  /** Whether the first row contains the column names. Default: true. */
  headerRow?: boolean
}

export interface OnlineSpreadsheetSourceBody extends SourceBodyFields {
  type: "ONLINE_SPREADSHEET"
  spreadsheetSource: SpreadsheetSourceBody
  /** The name of the sheet. Default: the first sheet. */
  sheet?: string
  /** The range of cells to load. Default: all cells. */
  range?: string
  /** Whether the first row contains the column names. Default: true. */
  headerRow?: boolean
}

export interface PageQuery {
  page?: number
  pageSize?: number
}

export interface Pager {
  page: number
  pageSize: number
  totalCount?: number
  offset: number
  pageCount?: number
}

export interface PagingRequest {
  page?: number
  pageSize?: number
  /** The cursor of the previous page, from its header X-Next-Cursor. Filters and order must stay the same. */
  after?: string
  /** false returns the first 1,000 rows as one page. */
  paging?: boolean
  /** false omits the totals, which saves time. */
  total?: boolean
}

export interface ParquetUploadPipeline extends DataPipelineFields {
  type: "PARQUET_UPLOAD"
  file?: UploadedFile
}

export interface ParquetUploadPipelineBody extends DataPipelineBodyFields {
  type?: "PARQUET_UPLOAD"
}

export interface ParquetUploadSourceBody extends SourceBodyFields {
  type: "PARQUET_UPLOAD"
}

/** The parameters of each call, in addition to the cursor. */
export interface Payload {}

export interface PlannedRun {
  /** The planned time, with the offset of the time zone at that time. */
  at: string
  mode: "FULL" | "INCREMENTAL"
  timeZone: string
  /** Whether the planned time has passed and the run has not started yet. */
  late: boolean
  object: RunnableObject
}

export interface PlannedRunQuery {
  /** The earliest planned time. Default: now; then late runs come first. */
  from?: string
  /** Planned times before this time. Default: 7 days after `from`; at most 366 days after it. */
  to?: string
  /** Kinds of objects. Repeat the parameter for several kinds. */
  kind?: ("DATA_PIPELINE" | "VIEW" | "DESTINATION" | "DATA_QUALITY_CHECK_GROUP" | "WORKFLOW")[]
  /** Only the data pipelines and views of this schema. */
  schema?: string
  /** Default: 50. */
  pageSize?: number
  /** The cursor of the previous page, from its header X-Next-Cursor. The other parameters must stay the same. */
  after?: string
}

export interface PlannedTable {
  schema: string
  table: string
  /** Absent if the table does not exist yet. */
  rowsBefore?: number
  rowsAfter: number
  changes: ({
    kind: "COLUMN_ADDED" | "COLUMN_VANISHED" | "COLUMN_EMPTIED" | "COLUMN_DROPPED" | "TYPE_WIDENED" | "TYPE_CHANGED" | "SHAPE_REPLACED" | "ROWS_FELL" | "PART_NOT_READ" | "VIEWS_RECREATED"
    /** The changed column. Absent if the change concerns the whole table. */
    column?: string
    /** The value before: a type, such as DECIMAL(12,2), or a number of rows. A type that no load creates has the name that the warehouse gives it. */
    from?: string
    /** The value after, like `from`. For PART_NOT_READ, a sentence about the part that was not read. */
    to?: string
    /** For COLUMN_EMPTIED: the number of rows in the source, none of which has a value in the column. */
    rows?: number
    /** Whether this change gives the run the status WARNING. */
    warning: boolean
  })[]
}

export interface PlannedTime {
  /** The planned time, with the offset of the time zone at that time. */
  at: string
  mode: "FULL" | "INCREMENTAL"
}

export interface PreviewSheet {
  /** The position of the sheet, from 1, including hidden sheets. Send it as `sheetNumber` to read the sheet. */
  number: number
  name: string
  hidden: boolean
  hasRows: boolean
  /** Whether the rows are from this sheet. */
  read: boolean
}

export interface Progress {
  bytesRead: number
  bytesTotal?: number
  rowsRead: number
  rowsRejected: number
  /** Percentage of the bytes. It never decreases, even if a source is read again; 100 means published. */
  percentage?: number
  rowsPerSecond: number
  bytesPerSecond: number
  /** Estimated time when reading ends, at the current rate. */
  estimatedEnd?: string
  /** The tables that a run has started to read, if it fills several; the last 200 of them. Absent in lists over several objects. If the run failed during a table, its state is READING. */
  tables?: TableProgress[]
}

export interface PublicColumn {
  name: string
  label: string
  dataType: "SMALLINT" | "INTEGER" | "BIGINT" | "DECIMAL" | "FLOAT" | "DOUBLE" | "BOOLEAN" | "CHARACTER_11" | "VARCHAR_50" | "VARCHAR_255" | "TEXT" | "DATE" | "TIMESTAMP" | "TIMESTAMPTZ" | "GEOMETRY" | "GEOMETRY_POINT" | "JSONB"
}

export interface PublicData {
  id: string
  columns: PublicColumn[]
  rows: unknown[][]
  height: number
  width: number
}

export interface PublicDataQuery {
  page?: number
  /** Default: 100. */
  pageSize?: number
  /** Returns all rows as a file: csv, ndjson, parquet, arrow or xlsx. json, the default, returns a page. Takes precedence over the Accept header. */
  format?: string
  /** For csv: excel has a byte order mark, semicolons and decimal commas, and an apostrophe before texts that Excel would run as formulas. */
  dialect?: "rfc4180" | "excel"
}

export interface PublicDataset {
  key: string
  lastUpdated: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  name: string
  description?: string
  owner?: string
  reference?: string
  source?: string
  termsOfUse?: string
  tags: string[]
  tagString?: string
  headerRow: boolean
  table?: Table
  status: PublicDatasetStatus
}

export interface PublicDatasetBody {
  key: string
  name: string
  description?: string
  owner?: string
  reference?: string
  source?: string
  termsOfUse?: string
  tags?: string[]
  /** Whether the first row contains the column names. A change loads the file again. */
  headerRow?: boolean
}

export interface PublicDatasetFileQuery {
  /** Seconds to wait for the load. The load continues after this time. Default: 30. */
  wait?: number
  /** The file's name. */
  name?: string
  /** If true, the table gets its columns and types from this file alone. Set it if the file was rejected because its columns have changed on purpose. */
  rebuild?: boolean
}

export interface PublicDatasetForm {
  key: string
  name: string
  description?: string
  owner?: string
  reference?: string
  source?: string
  termsOfUse?: string
  /** Tags, separated by commas. */
  tags?: string
  /** Whether the first row names the columns. Default: true. */
  headerRow?: "true" | "false"
}

export interface PublicDatasetPipeline extends DataPipelineFields {
  type: "PUBLIC_DATASET"
  /** The key of the public dataset. */
  key: string
}

export interface PublicDatasetPipelineBody extends DataPipelineBodyFields {
  type?: "PUBLIC_DATASET"
  /** The key of the public dataset. */
  key: string
}

export interface PublicDatasetSourceBody extends SourceBodyFields {
  type: "PUBLIC_DATASET"
  /** The key of the public dataset. */
  key: string
}

export interface PublicDatasetStatus {
  lastRunStatus: "OK" | "WARNING" | "FAILED" | "RUNNING" | "QUEUED" | "CANCELLED" | "NEVER_RUN"
  lastRunSuccess?: string
  lastRun?: string
  nextFullReplaceRun?: string
  lastRunDuration?: string
  jobId?: string
  /** The outcome of the last load and what to do next. Only members of the organisation of the dataset see it. */
  message?: string
  /** Number of rows that the last load rejected. Only members of the organisation of the dataset see it. */
  rowsRejected?: number
  /** The first rejected rows, with the reasons. Absent in lists. */
  rejectedRows?: RejectedRow[]
}

export interface PublicDatasetUploadQuery {
  /** Seconds to wait for the load. The load continues after this time. Default: 30. */
  wait?: number
}

export interface PublicMetadata {
  id: string
  name: string
  displayName: string
  description?: string
  displayDescription?: string
  tags: string[]
  url?: string
  reference?: string
  source?: string
  termsOfUse?: string
  lastUpdated?: string
  rowCount: number
  columns: PublicColumn[]
}

export interface PublishedTable {
  schema: string
  table: string
  /** Rows of this run, after its transformation. */
  rowsWritten: number
  /** For APPEND and MERGE: rows that were not in the table before. Only PostgreSQL and ClickHouse count them, `rowsChanged` and `rowsRemoved`. */
  rowsAdded?: number
  /** For APPEND and MERGE: rows in which a value changed. A run that changes no row and no column of any table leaves nothing to undo, so a restore undoes the last run before it that changed something. */
  rowsChanged?: number
  /** For APPEND and MERGE: rows that were removed, because the source marks them as deleted, or because they belong to a changed part of the source. */
  rowsRemoved?: number
  /** Rows of the whole table before the publication. Absent for a new table. */
  rowsBefore?: number
  /** Rows of the whole table after the publication. */
  rowsAfter: number
  bytesWritten: number
  changes: ({
    kind: "COLUMN_ADDED" | "COLUMN_VANISHED" | "COLUMN_EMPTIED" | "COLUMN_DROPPED" | "TYPE_WIDENED" | "TYPE_CHANGED" | "SHAPE_REPLACED" | "ROWS_FELL" | "PART_NOT_READ" | "VIEWS_RECREATED"
    /** The changed column. Absent if the change concerns the whole table. */
    column?: string
    /** The value before: a type, such as DECIMAL(12,2), or a number of rows. A type that no load creates has the name that the warehouse gives it. */
    from?: string
    /** The value after, like `from`. For PART_NOT_READ, a sentence about the part that was not read. */
    to?: string
    /** For COLUMN_EMPTIED: the number of rows in the source, none of which has a value in the column. */
    rows?: number
    /** Whether this change gives the run the status WARNING. */
    warning: boolean
  })[]
}

export interface QueriedSchema {
  id: string
}

export interface QueriedTable {
  schema: string
  name: string
}

export interface QueryBody {
  /** One SELECT, VALUES, TABLE or WITH … SELECT in the syntax of the warehouse. `${name}` is the value of a variable. */
  sql: string
  /** The schemas in which tables without a schema are searched, in this order. Default: all schemas of the organisation; a table name that several of them have is then rejected. */
  schemas?: QueriedSchema[]
  /** Values for this query. Other variables have their stored values; secured variables need a value here. */
  variables?: QueryVariable[]
  /** The maximum number of rows. Default: 1,000 for JSON, which has at most 10,000; all rows for a file. */
  limit?: number
}

export interface QueryFormat {
  /** Returns all rows as a file: csv, ndjson, parquet, arrow or xlsx. json, the default, returns a page. Takes precedence over the Accept header. */
  format?: string
  /** For csv: excel has a byte order mark, semicolons and decimal commas, and an apostrophe before texts that Excel would run as formulas. */
  dialect?: "rfc4180" | "excel"
}

export interface QueryResult {
  schema: string
  name: string
  displayName?: string
  /** The text that a user has written about the table; otherwise the description of its pipeline or view. */
  description?: string
  size: number
  rowCount: number
  columnCount: number
  sizeMb: number
  sizePretty: string
  qualifiedTableName: string
  tableName: string
  columns: Column[]
  foreignKeys: ForeignKey[]
  queryStartTime: string
  queryDuration: number
  rows: unknown[][]
  height: number
  width: number
}

export interface QueryVariable {
  name: string
  value: string
}

export interface ReaderConnection {
  host?: string
  port?: number
  /** The database to connect to. In ClickHouse, where each schema is a database, the first of the schemas that the reader may read. */
  database?: string
  user: string
  /** As in libpq. For verify-full, programs need the certificate of `GET /warehouse-readers/certificate`. */
  sslMode?: "prefer" | "require" | "verify-full"
}

export interface RedactedField {
  pointer: string
  /** SAME: the given value is the stored one. CHANGED: it differs. SET: none was stored. REMOVED: the stored value is deleted. MISSING: the configuration names the secret in `redacted`, but no value is stored. */
  state: "SAME" | "CHANGED" | "SET" | "REMOVED" | "MISSING"
}

export interface Reference {
  id: string
}

export interface ReferencedCheck {
  id: string
  created?: string
  lastUpdated?: string
  displayName?: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may?: ("read" | "write" | "run" | "share" | "delete")[]
  client?: string
  name: string
  translations?: LabelledTranslation[]
  shortName?: string
  labels?: Label[]
  description?: string
  displayLabels?: Label[]
  displayShortName?: string
  displayDescription?: string
  access?: Access
  code?: string
  /** One SELECT that returns the violations as rows. `${name}` is replaced by the value of a variable. Tables without a schema are searched in all schemas; a table name that exists in several schemas is rejected. */
  query?: string
}

export interface ReferencedSchema {
  id: string
  created?: string
  lastUpdated?: string
  displayName?: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may?: ("read" | "write" | "run" | "share" | "delete")[]
  client?: string
  name: string
  translations?: Translation[]
  schemaName: string
  description?: string
  tags?: string[]
  permanent?: boolean
  providerSchema?: "WAREHOUSE_A" | "SQL_DATABASE_D" | "WAREHOUSE_B" | "WAREHOUSE_C" | "SQL_DATABASE_A" | "NA"
  /** Whether loads measure a profile of each table of the schema. false deletes the profiles of its tables at once. */
  profileTables?: boolean
  access?: Access
  statistics?: {
    dataPipelines: number
    views: number
  }
  displayDescription?: string
  tagString?: string
}

export interface ReferencedView {
  id: string
  created?: string
  lastUpdated?: string
  displayName?: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may?: ("read" | "write" | "run" | "share" | "delete")[]
  client?: string
  name: string
  translations?: Translation[]
  description?: string
  tags?: string[]
  /** One SELECT, VALUES, TABLE or WITH … SELECT, without variables. Names without a schema are searched in the schema of the view. */
  query?: string
  /** Whether the rows of the view are stored, and refreshed by each run. */
  materialized?: boolean
  disabled?: boolean
  runTrigger?: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  triggerExpression?: string
  scheduleable?: boolean
  schema?: ReferencedSchema
  dataWarehouseViewName?: string
  qualifiedDataWarehouseViewName?: string
  warehouseAViewName?: string
  status?: ViewStatus
  anonymousAccess?: AnonymousAccess
  access?: Access
  displayDescription?: string
  tagString?: string
}

export interface RejectedRow {
  line: number
  column?: string
  reason: string
  raw: string
}

export interface RejectedRowsQuery {
  page?: number
  pageSize?: number
  /** Returns all rows as a file: csv, ndjson, parquet, arrow or xlsx. json, the default, returns a page. Takes precedence over the Accept header. */
  format?: string
  /** For csv: excel has a byte order mark, semicolons and decimal commas, and an apostrophe before texts that Excel would run as formulas. */
  dialect?: "rfc4180" | "excel"
}

/** Reads the records of a REST API at the address, instead of calling a function. */
export interface RestApi {
  /** Default: GET. */
  method?: "GET" | "POST"
  /** The path after the address. The value of a variable becomes a part of one segment. */
  path?: string
  /** The query parameters. A list becomes several parameters of the same name. */
  query?: Record<string, string | number | boolean | string[]>
  /** Further headers. Write a secret as a secured variable, `${NAME}`. */
  headers?: Record<string, string>
  /** The JSON body of a POST request. */
  body?: RestBody
  /** The part of the request with the parameters of the paging and the increment. In a body, their names are paths. Default: QUERY. */
  parametersIn?: "QUERY" | "BODY"
  /** The path of the list of records in a response. Default: the response is the list. */
  records?: string
  /** The fields that identify a record. Increments need a key. */
  key?: string[]
  /** Columns that exist even if no record has a value in them. Other fields become columns too. */
  columns?: RestColumn[]
  /** The way to request the next page. Default: a single request. */
  paging?: RestPaging
  /** Allows incremental runs, which read new and changed records only. Without it, each run reads everything. */
  increment?: RestIncrement
}

/** Reads the records of a REST API at the address, instead of calling a function. */
export interface RestApiOfConfiguration {
  /** Default: GET. */
  method?: "GET" | "POST"
  /** The path after the address. The value of a variable becomes a part of one segment. */
  path?: string
  /** The query parameters. A list becomes several parameters of the same name. */
  query?: Record<string, string | number | boolean | string[]>
  /** Further headers. Write a secret as a secured variable, `${NAME}`. */
  headers?: Record<string, string>
  /** The JSON body of a POST request. */
  body?: RestBody
  /** The part of the request with the parameters of the paging and the increment. In a body, their names are paths. Default: QUERY. */
  parametersIn?: "QUERY" | "BODY"
  /** The path of the list of records in a response. Default: the response is the list. */
  records?: string
  /** The fields that identify a record. Increments need a key. */
  key?: string[]
  /** Columns that exist even if no record has a value in them. Other fields become columns too. */
  columns?: RestColumn[]
  /** The way to request the next page. Default: a single request. */
  paging?: RestPaging
  /** Allows incremental runs, which read new and changed records only. Without it, each run reads everything. */
  increment?: RestIncrement
}

/** Reads the records of a REST API at the address, instead of calling a function. */
export interface RestApiOfExport {
  /** Default: GET. */
  method?: "GET" | "POST"
  /** The path after the address. The value of a variable becomes a part of one segment. */
  path?: string
  /** The query parameters. A list becomes several parameters of the same name. */
  query?: Record<string, string | number | boolean | string[]>
  /** Further headers. Write a secret as a secured variable, `${NAME}`. */
  headers?: Record<string, string>
  /** The JSON body of a POST request. */
  body?: RestBody
  /** The part of the request with the parameters of the paging and the increment. In a body, their names are paths. Default: QUERY. */
  parametersIn?: "QUERY" | "BODY"
  /** The path of the list of records in a response. Default: the response is the list. */
  records?: string
  /** The fields that identify a record. Increments need a key. */
  key?: string[]
  /** Columns that exist even if no record has a value in them. Other fields become columns too. */
  columns?: RestColumn[]
  /** The way to request the next page. Default: a single request. */
  paging?: RestPaging
  /** Allows incremental runs, which read new and changed records only. Without it, each run reads everything. */
  increment?: RestIncrement
}

/** The JSON body of a POST request. */
export interface RestBody {}

export interface RestColumn {
  /** The path of the field in a record. */
  name: string
  /** The type of the column. Default: inferred from all values. */
  type?: "SMALLINT" | "INTEGER" | "BIGINT" | "DECIMAL" | "FLOAT" | "DOUBLE" | "BOOLEAN" | "CHARACTER_11" | "VARCHAR_50" | "VARCHAR_255" | "TEXT" | "DATE" | "TIMESTAMP" | "TIMESTAMPTZ" | "GEOMETRY" | "GEOMETRY_POINT" | "JSONB"
}

/** Allows incremental runs, which read new and changed records only. Without it, each run reads everything. */
export interface RestIncrement {
  /** The field that each change of a record increases, such as the time of its last change. */
  cursorField: string
  /** The parameter by which the API returns only records that changed at this time or later. */
  parameter: string
  /** TIMESTAMP is text such as `2026-01-31T12:30:00Z` or `2026-01-31`. NUMBER is an integer. Default: TIMESTAMP. */
  cursorType?: "TIMESTAMP" | "UNIX_SECONDS" | "UNIX_MILLISECONDS" | "NUMBER"
  /** The format of a time in the parameter. Default: as in the records. */
  sentAs?: "TIMESTAMP" | "DATE" | "UNIX_SECONDS" | "UNIX_MILLISECONDS"
  /** The value of the parameter, in which `{cursor}` is replaced. Default: `{cursor}`. */
  template?: string
  /** The value of the parameter when everything is read. Default: the parameter is not sent. */
  firstValue?: string
  /** How far before the largest cursor an increment starts to read: seconds for times, otherwise a difference of numbers. Default: 300 seconds, or 1. */
  lookback?: number
}

/** The way to request the next page. Default: a single request. */
export interface RestPaging {
  /** LINK_HEADER follows `rel="next"` of the header `Link`. NEXT_LINK follows a link in the response. CURSOR sends a value of the response with the next request. PAGE counts pages. OFFSET skips records. */
  type: "LINK_HEADER" | "NEXT_LINK" | "CURSOR" | "PAGE" | "OFFSET"
  /** NEXT_LINK: the path of the link in the response. CURSOR: the path of the cursor. The last page has no value there. */
  path?: string
  /** CURSOR, instead of path: the field of the last record of a page whose value is the cursor. */
  lastRecordField?: string
  /** CURSOR, PAGE and OFFSET: the parameter for the cursor, the number of the page, or the number of records to skip. */
  parameter?: string
  /** PAGE: the number of the first page. Default: 1. */
  firstPage?: number
  /** The parameter for the records per page. */
  sizeParameter?: string
  /** The records per page. */
  size?: number
  /** CURSOR, PAGE and OFFSET: the path of a boolean in the response that is false on the last page. */
  hasMore?: string
  /** The path of the number of all records in the response. If fewer are returned, the run is a WARNING. */
  total?: string
}

export interface ResultEnvelope {
  status: "OK" | "WARNING" | "ERROR"
  httpStatus: string
  httpStatusCode: number
  statusCode: number
  errorCode: string
  message: string
  messageKey?: string
  devMessage?: string
  data?: Record<string, unknown>
}

export interface ResumableUpload {
  id: string
  /** The file's name. */
  name: string
  /** Bytes of the whole file. */
  length: number
  /** The number of bytes that the service has stored. It is less than `length` until the file has replaced the previous file of the pipeline. */
  received: number
  created: string
  /** The username of the user who started it. */
  createdBy?: string
  /** When the upload is removed, unless more bytes arrive before. */
  expires: string
  file?: UploadedFile
}

export interface Run {
  taskId: string
  status: "OK" | "WARNING" | "FAILED" | "RUNNING" | "QUEUED" | "CANCELLED" | "NEVER_RUN"
  trigger: "MANUAL" | "SCHEDULE" | "WORKFLOW"
  /** The requested mode. The log shows if it was not possible. */
  mode: "FULL" | "INCREMENTAL"
  /** RUN. Data pipelines also have DRY_RUN, which publishes nothing, and RESTORE, which publishes the rows before the last publication. */
  action: "RUN" | "DRY_RUN" | "RESTORE"
  /** The scheduled time of the run. */
  scheduledFor?: string
  attempt: number
  created: string
  started?: string
  finished?: string
  duration?: string
  startedBy?: string
  /** The uploaded file of the run. */
  file?: RunFile
  progress: Progress
  rowsWritten?: number
  bytesWritten?: number
  message?: string
  errorCode?: string
  plannedTables?: PlannedTable[]
  jobs?: WorkflowRunJob[]
}

export interface RunBody {
  /** FULL, the default, reads all rows and writes them by writeMode. INCREMENTAL continues after the last run; it needs writeMode REPLACE, and is refused (422) for a data pipeline that has no increments. */
  mode?: "FULL" | "INCREMENTAL"
  /** For a data pipeline: the table gets its columns, types and rows from this load only, whatever its writeMode. Such a run is FULL. */
  rebuild?: boolean
  /** For a data pipeline with an uploaded file and writeMode APPEND: adds the rows of the file again, although a run has already added them. */
  repeatFile?: boolean
  /** For a data pipeline: reads and checks the source and compares it with the table, but publishes nothing. The result has `plannedTables`, rejected rows and check results. The start of another run cancels the dry run. */
  dryRun?: boolean
}

/** The uploaded file of the run. */
export interface RunFile {
  name: string
  size: number
  sha256: string
  /** Absent for runs that an earlier version of Sluice started. */
  uploaded?: string
}

export interface RunInput {
  /** Values of variables for this run. Absent variables have their stored values. A name that is neither stored nor used by a query is rejected. Responses omit the values of secured variables. */
  variables?: RunVariableBody[]
}

export interface RunListQuery {
  /** Kinds of objects. Repeat the parameter for several kinds. */
  kind?: ("DATA_PIPELINE" | "VIEW" | "DESTINATION" | "DATA_QUALITY_CHECK_GROUP" | "WORKFLOW")[]
  /** Repeat the parameter for several values. */
  status?: ("QUEUED" | "RUNNING" | "OK" | "WARNING" | "FAILED" | "CANCELLED")[]
  /** Repeat the parameter for several values. */
  trigger?: ("MANUAL" | "SCHEDULE" | "WORKFLOW")[]
  /** Only runs of the data pipelines and views of this schema. */
  schema?: string
  /** Only runs that were created at this time or later. */
  since?: string
  /** Default: 50. */
  pageSize?: number
  /** The cursor of the previous page, from its header X-Next-Cursor. The other parameters must stay the same. */
  after?: string
}

export interface RunStatus {
  lastRunStatus: "OK" | "WARNING" | "FAILED" | "RUNNING" | "QUEUED" | "CANCELLED" | "NEVER_RUN"
  lastRunSuccess?: string
  lastRun?: string
  nextFullReplaceRun?: string
  lastRunDuration?: string
  jobId?: string
}

export interface RunStreamQuery {
  /** Kinds of objects. Repeat the parameter for several kinds. */
  kind?: ("DATA_PIPELINE" | "VIEW" | "DESTINATION" | "DATA_QUALITY_CHECK_GROUP" | "WORKFLOW")[]
  /** Repeat the parameter for several values. */
  status?: ("QUEUED" | "RUNNING" | "OK" | "WARNING" | "FAILED" | "CANCELLED")[]
  /** Repeat the parameter for several values. */
  trigger?: ("MANUAL" | "SCHEDULE" | "WORKFLOW")[]
  /** Only runs of the data pipelines and views of this schema. */
  schema?: string
}

export interface RunVariable {
  name: string
  secured: boolean
  value?: string
}

export interface RunVariableBody {
  name: string
  secured?: boolean
  value?: string
}

export interface RunnableObject {
  kind: "DATA_PIPELINE" | "VIEW" | "DESTINATION" | "DATA_QUALITY_CHECK_GROUP" | "WORKFLOW"
  id: string
  name: string
}

export interface SavedDataPipeline {
  id: string
  name: string
  result: "CREATED" | "UPDATED"
  type: string
}

export interface SavedDataPipelines {
  dataPipelines: SavedDataPipeline[]
}

export interface SavedDataQualityCheck {
  id: string
  name: string
  result: "CREATED" | "UPDATED"
}

export interface SavedDataQualityCheckGroup {
  id: string
  name: string
  result: "CREATED" | "UPDATED"
}

export interface SavedDataQualityCheckGroups {
  dataQualityCheckGroups: SavedDataQualityCheckGroup[]
}

export interface SavedDataQualityChecks {
  dataQualityChecks: SavedDataQualityCheck[]
}

export interface SavedDestination {
  id: string
  name: string
  result: "CREATED" | "UPDATED"
}

export interface SavedDestinations {
  destinations: SavedDestination[]
}

export interface SavedView {
  id: string
  name: string
  result: "CREATED" | "UPDATED"
  /** Whether a run still has to create or change the view in the warehouse. */
  pending: boolean
}

export interface SavedViews {
  views: SavedView[]
}

export interface SavedWorkflow {
  id: string
  name: string
  result: "CREATED" | "UPDATED"
}

export interface SavedWorkflows {
  workflows: SavedWorkflow[]
}

export interface SchedulePreview {
  description: string
  triggerExpression?: string
  timeZone: string
  /** The next five runs. Empty if the times depend on the id of the object and the request has no id. */
  next: PlannedTime[]
}

export interface SchedulePreviewBody {
  /** Default: CUSTOM with a cron expression, otherwise NEVER. */
  runTrigger?: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  /** The object of the schedule. Random triggers and continuous updates derive their minute from its id. */
  id?: string
  /** Return the runs after this time. Default: now. */
  after?: string
}

export interface Schema {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  client: string
  name: string
  translations?: Translation[]
  schemaName: string
  description?: string
  tags?: string[]
  permanent: boolean
  providerSchema: "WAREHOUSE_A" | "SQL_DATABASE_D" | "WAREHOUSE_B" | "WAREHOUSE_C" | "SQL_DATABASE_A" | "NA"
  /** Whether loads measure a profile of each table of the schema. false deletes the profiles of its tables at once. */
  profileTables: boolean
  access: Access
  statistics: {
    dataPipelines: number
    views: number
  }
  displayDescription?: string
  tagString?: string
}

export interface SchemaBody {
  name: string
  translations?: Translation[]
  schemaName?: string
  description?: string
  tags?: string[]
  permanent: boolean
  providerSchema: "WAREHOUSE_A" | "SQL_DATABASE_D" | "WAREHOUSE_B" | "WAREHOUSE_C" | "SQL_DATABASE_A" | "NA"
  /** Whether loads measure a profile of each table of the schema. false deletes the profiles of its tables at once. Default: as before; true for a new schema. */
  profileTables?: boolean
  access?: AccessPart
}

export interface SchemaReference {
  id: string
}

export interface SearchRequest {
  query?: string
  filter?: string[]
  order?: string[]
  rootJunction?: "AND" | "OR"
  paging: PagingRequest
}

export interface SecretStatus {
  /** Whether a value is stored. */
  set: boolean
  /** When the stored value was last entered. Absent for values that an older version of Sluice stored. */
  changedAt?: string
}

export interface Setting {
  /** Absent if the value is the default. */
  id?: string
  created?: string
  lastUpdated?: string
  client: string
  key: "ALERT_EMAIL" | "DEFAULT_ACCESS_LEVEL" | "DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES" | "RETAIN_TEMP_FILES" | "THEME"
  /** ALERT_EMAIL: addresses, with commas between them, or empty; the entry WARNING adds mails about runs that end with a warning, the entry NO_SUCCESS_24_HOURS mails about schedules without a successful run for that number of hours (1 to 8760). DEFAULT_ACCESS_LEVEL: PUBLIC or PRIVATE. DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES: CLEAN_UP or RETAIN. RETAIN_TEMP_FILES: true or false. THEME: a name of letters, digits, _ and -, or empty. */
  value: string
  /** Why the value has no effect, such as alert addresses on an installation without a mail server. */
  warning?: string
}

export interface SettingBody {
  /** The `lastUpdated` of the setting that you read. If the setting has changed since then, `client` is ignored instead of checked. */
  lastUpdated?: string
  /** If present, it must equal the key in the path. */
  key?: "ALERT_EMAIL" | "DEFAULT_ACCESS_LEVEL" | "DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES" | "RETAIN_TEMP_FILES" | "THEME"
  /** ALERT_EMAIL: addresses, with commas between them, or empty; the entry WARNING adds mails about runs that end with a warning, the entry NO_SUCCESS_24_HOURS mails about schedules without a successful run for that number of hours (1 to 8760). DEFAULT_ACCESS_LEVEL: PUBLIC or PRIVATE. DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES: CLEAN_UP or RETAIN. RETAIN_TEMP_FILES: true or false. THEME: a name of letters, digits, _ and -, or empty. */
  value: string
  /** If present, it must be the client of the caller. */
  client?: string
}

export type SourceBody =
  | CloudBlobStorageSourceBody
  | SourceSystemASourceBody
  | SourceSystemBSourceBody
  | CsvUploadSourceBody
  | SourceSystemCSourceBody
  | FunctionSourceBody
  | FhirSourceBody
  | OnlineSpreadsheetSourceBody
  | SourceSystemDSourceBody
  | SourceSystemESourceBody
  | SourceSystemFSourceBody
  | SqlDatabaseASourceBody
  | SqlDatabaseBSourceBody
  | SourceSystemGSourceBody
  | SourceSystemHSourceBody
  | SqlDatabaseCSourceBody
  | ParquetUploadSourceBody
  | SqlDatabaseDSourceBody
  | PublicDatasetSourceBody
  | WarehouseASourceBody
  | ObjectStorageBucketSourceBody
  | SourceSystemISourceBody

export interface SourceBodyFields {
  id?: string
  /** The mode in which a run writes its rows. REPLACE, the default, replaces all rows of the table. APPEND adds rows, and adds each uploaded file or object of an object store only once. MERGE replaces the rows with the same mergeKey and adds the others; rows that the source no longer has stay. A run with `rebuild` replaces all rows in every mode. */
  writeMode?: "REPLACE" | "APPEND" | "MERGE"
  /** For writeMode MERGE: the columns that identify a row, by their names in the table or in the source. Required if the source has no key. Their values are never null, and no two rows of a load have the same values in all of them. */
  mergeKey?: string[]
  /** Number of rows. Default: 100. */
  rows?: number
}

export interface SourceLookupBody {
  jdbcSource?: JdbcSourceBody
  functionSource?: FunctionPlaceBody
  /** Reads the records of a REST API at the address, instead of calling a function. */
  restApi?: RestApi
  objectStoreSource?: ObjectStoreSourceBody
  blobStoreSource?: BlobStoreLookupBody
  spreadsheetSource?: SpreadsheetSourceBody
  /** The base address of DHIS2, without /api. */
  url?: string
  username?: string
  password?: string
  authToken?: string
  /** Returns only options whose name contains this text. */
  query?: string
  /** Lists the options inside this parent, such as the forms of a project or the objects of a folder. By default, the parent in the settings of the saved pipeline, or the root. */
  within?: string
}

export interface SourcePreview {
  schema: string
  name: string
  displayName?: string
  /** The text that a user has written about the table; otherwise the description of its pipeline or view. */
  description?: string
  size: number
  rowCount: number
  columnCount: number
  sizeMb: number
  sizePretty: string
  qualifiedTableName: string
  tableName: string
  columns: Column[]
  foreignKeys: ForeignKey[]
  queryStartTime: string
  queryDuration: number
  rows: unknown[][]
  height: number
  width: number
  /** Whether the preview contains all rows of the source. */
  complete: boolean
  rejected: RejectedRow[]
  notes: string[]
  csvGuesses?: CsvGuesses
  /** For a workbook: its sheets that are not empty, in their order. */
  sheets?: PreviewSheet[]
}

export interface SourceSystemAPipeline extends DataPipelineFields {
  type: "SOURCE_SYSTEM_A"
  apiSource: ApiLoginSource
  /** The number of the facility. */
  project: string
  /** The kinds of records to load. Each becomes a table. */
  resources: ("PATIENTS" | "VISITS" | "INVOICES" | "CASH" | "STOCK_MOVEMENTS" | "STOCK_LOT_MOVEMENTS" | "STOCK_LOTS" | "DEPOTS" | "INVENTORY" | "SERVICES" | "EMPLOYEES" | "FISCAL_YEARS" | "DEBTOR_GROUPS" | "GENERAL_LEDGER")[]
  /** Dated records since this day. */
  startDate?: string
  /** Dated records until this day, inclusive. */
  endDate?: string
}

export interface SourceSystemAPipelineBody extends DataPipelineBodyFields {
  type?: "SOURCE_SYSTEM_A"
  apiSource: ApiLoginSourceBody
  /** The number of the facility. */
  project: string
  /** The kinds of records to load. Each becomes a table. */
  resources: ("PATIENTS" | "VISITS" | "INVOICES" | "CASH" | "STOCK_MOVEMENTS" | "STOCK_LOT_MOVEMENTS" | "STOCK_LOTS" | "DEPOTS" | "INVENTORY" | "SERVICES" | "EMPLOYEES" | "FISCAL_YEARS" | "DEBTOR_GROUPS" | "GENERAL_LEDGER")[]
  /** Dated records since this day. */
  startDate?: string
  /** Dated records until this day, inclusive. */
  endDate?: string
}

export interface SourceSystemASourceBody extends SourceBodyFields {
  type: "SOURCE_SYSTEM_A"
  apiSource: ApiLoginSourceBody
  /** The number of the facility. */
  project: string
  /** The kinds of records to load. Each becomes a table. */
  resources: ("PATIENTS" | "VISITS" | "INVOICES" | "CASH" | "STOCK_MOVEMENTS" | "STOCK_LOT_MOVEMENTS" | "STOCK_LOTS" | "DEPOTS" | "INVENTORY" | "SERVICES" | "EMPLOYEES" | "FISCAL_YEARS" | "DEBTOR_GROUPS" | "GENERAL_LEDGER")[]
  /** Dated records since this day. */
  startDate?: string
  /** Dated records until this day, inclusive. */
  endDate?: string
}

export interface SourceSystemBPipeline extends DataPipelineFields {
  type: "SOURCE_SYSTEM_B"
  apiSource: ApiUserTokenSource
  /** The name after /a/ in the address of the project. */
  domain: string
  /** XMLNS of forms. Each becomes a table; repeat groups become child tables. */
  forms?: string[]
  /** The case types to load. Each becomes a table. */
  caseTypes?: string[]
  /** Whether archived forms are loaded. */
  includeArchived?: boolean
}

export interface SourceSystemBPipelineBody extends DataPipelineBodyFields {
  type?: "SOURCE_SYSTEM_B"
  apiSource: ApiUserTokenSourceBody
  /** The name after /a/ in the address of the project. */
  domain: string
  /** XMLNS of forms. Each becomes a table; repeat groups become child tables. */
  forms?: string[]
  /** The case types to load. Each becomes a table. */
  caseTypes?: string[]
  /** Whether archived forms are loaded. */
  includeArchived?: boolean
}

export interface SourceSystemBSourceBody extends SourceBodyFields {
  type: "SOURCE_SYSTEM_B"
  apiSource: ApiUserTokenSourceBody
  /** The name after /a/ in the address of the project. */
  domain: string
  /** XMLNS of forms. Each becomes a table; repeat groups become child tables. */
  forms?: string[]
  /** The case types to load. Each becomes a table. */
  caseTypes?: string[]
  /** Whether archived forms are loaded. */
  includeArchived?: boolean
}

export interface SourceSystemCPipeline extends DataPipelineFields {
  type: "SOURCE_SYSTEM_C"
  apiSource: ApiSource
  /** Reported data values, computed analytics, events of programs, the organisation unit hierarchy, or other metadata. */
  content: "DATA_VALUES" | "ANALYTICS" | "EVENTS" | "ORGANISATION_UNITS" | "METADATA"
  /** For data values: ids of data sets. Set either this or `dataElements`. */
  dataSets?: string[]
  /** For data values: ids of data elements. For analytics: items of the dimension dx. */
  dataElements?: string[]
  /** For events: ids of programs. Each stage becomes a table. */
  programs?: string[]
  /** For metadata: the kinds to load. Each kind becomes a table. */
  metadata?: ("DATA_SETS" | "DATA_ELEMENTS" | "DATA_ELEMENT_GROUPS" | "INDICATORS" | "INDICATOR_GROUPS" | "PROGRAMS" | "PROGRAM_STAGES" | "ORGANISATION_UNITS" | "ORGANISATION_UNIT_GROUPS" | "ORGANISATION_UNIT_LEVELS" | "CATEGORY_OPTION_COMBOS" | "ATTRIBUTES")[]
  /** Ids of organisation units, which include all units below. Analytics also accept LEVEL-3, OU_GROUP-id and USER_ORGUNIT. Default: the units of the account. */
  orgUnits?: string[]
  /** Periods in the notation of DHIS2, such as 202601, 2026Q1 or LAST_12_MONTHS. Set either periods or the first and last day. */
  periods?: string[]
  /** If set, the list of periods is not used. */
  startDate?: string
  /** If set, the list of periods is not used. The day is included. */
  endDate?: string
  /** `UID`, `CODE`, `NAME` or `ATTRIBUTE:<attribute id>`. Default: `UID`. */
  outputIdScheme?: string
}

export interface SourceSystemCPipelineBody extends DataPipelineBodyFields {
  type?: "SOURCE_SYSTEM_C"
  apiSource: ApiSourceBody
  /** Reported data values, computed analytics, events of programs, the organisation unit hierarchy, or other metadata. */
  content: "DATA_VALUES" | "ANALYTICS" | "EVENTS" | "ORGANISATION_UNITS" | "METADATA"
  /** For data values: ids of data sets. Set either this or `dataElements`. */
  dataSets?: string[]
  /** For data values: ids of data elements. For analytics: items of the dimension dx. */
  dataElements?: string[]
  /** For events: ids of programs. Each stage becomes a table. */
  programs?: string[]
  /** For metadata: the kinds to load. Each kind becomes a table. */
  metadata?: ("DATA_SETS" | "DATA_ELEMENTS" | "DATA_ELEMENT_GROUPS" | "INDICATORS" | "INDICATOR_GROUPS" | "PROGRAMS" | "PROGRAM_STAGES" | "ORGANISATION_UNITS" | "ORGANISATION_UNIT_GROUPS" | "ORGANISATION_UNIT_LEVELS" | "CATEGORY_OPTION_COMBOS" | "ATTRIBUTES")[]
  /** Ids of organisation units, which include all units below. Analytics also accept LEVEL-3, OU_GROUP-id and USER_ORGUNIT. Default: the units of the account. */
  orgUnits?: string[]
  /** Periods in the notation of DHIS2, such as 202601, 2026Q1 or LAST_12_MONTHS. Set either periods or the first and last day. */
  periods?: string[]
  /** If set, the list of periods is not used. */
  startDate?: string
  /** If set, the list of periods is not used. The day is included. */
  endDate?: string
  /** `UID`, `CODE`, `NAME` or `ATTRIBUTE:<attribute id>`. Default: `UID`. */
  outputIdScheme?: string
}

export interface SourceSystemCSourceBody extends SourceBodyFields {
  type: "SOURCE_SYSTEM_C"
  apiSource: ApiSourceBody
  /** Reported data values, computed analytics, events of programs, the organisation unit hierarchy, or other metadata. */
  content: "DATA_VALUES" | "ANALYTICS" | "EVENTS" | "ORGANISATION_UNITS" | "METADATA"
  /** For data values: ids of data sets. Set either this or `dataElements`. */
  dataSets?: string[]
  /** For data values: ids of data elements. For analytics: items of the dimension dx. */
  dataElements?: string[]
  /** For events: ids of programs. Each stage becomes a table. */
  programs?: string[]
  /** For metadata: the kinds to load. Each kind becomes a table. */
  metadata?: ("DATA_SETS" | "DATA_ELEMENTS" | "DATA_ELEMENT_GROUPS" | "INDICATORS" | "INDICATOR_GROUPS" | "PROGRAMS" | "PROGRAM_STAGES" | "ORGANISATION_UNITS" | "ORGANISATION_UNIT_GROUPS" | "ORGANISATION_UNIT_LEVELS" | "CATEGORY_OPTION_COMBOS" | "ATTRIBUTES")[]
  /** Ids of organisation units, which include all units below. Analytics also accept LEVEL-3, OU_GROUP-id and USER_ORGUNIT. Default: the units of the account. */
  orgUnits?: string[]
  /** Periods in the notation of DHIS2, such as 202601, 2026Q1 or LAST_12_MONTHS. Set either periods or the first and last day. */
  periods?: string[]
  /** If set, the list of periods is not used. */
  startDate?: string
  /** If set, the list of periods is not used. The day is included. */
  endDate?: string
  /** `UID`, `CODE`, `NAME` or `ATTRIBUTE:<attribute id>`. Default: `UID`. */
  outputIdScheme?: string
}

export interface SourceSystemDPipeline extends DataPipelineFields {
  type: "SOURCE_SYSTEM_D"
  apiSource: ApiLoginSource
  /** The id of the report to load. Set either this or `resourceTypes`. */
  report?: string
  /** FHIR resource types to load; each becomes a table. Set either this or `report`. */
  resourceTypes?: string[]
}

export interface SourceSystemDPipelineBody extends DataPipelineBodyFields {
  type?: "SOURCE_SYSTEM_D"
  apiSource: ApiLoginSourceBody
  /** The id of the report to load. Set either this or `resourceTypes`. */
  report?: string
  /** FHIR resource types to load; each becomes a table. Set either this or `report`. */
  resourceTypes?: string[]
}

export interface SourceSystemDSourceBody extends SourceBodyFields {
  type: "SOURCE_SYSTEM_D"
  apiSource: ApiLoginSourceBody
  /** The id of the report to load. Set either this or `resourceTypes`. */
  report?: string
  /** FHIR resource types to load; each becomes a table. Set either this or `report`. */
  resourceTypes?: string[]
}

export interface SourceSystemEPipeline extends DataPipelineFields {
  type: "SOURCE_SYSTEM_E"
  apiSource: ApiTokenSource
  /** The uid of the form, from its address. */
  survey: string
}

export interface SourceSystemEPipelineBody extends DataPipelineBodyFields {
  type?: "SOURCE_SYSTEM_E"
  apiSource: ApiTokenSourceBody
  /** The uid of the form, from its address. */
  survey: string
}

export interface SourceSystemESourceBody extends SourceBodyFields {
  type: "SOURCE_SYSTEM_E"
  apiSource: ApiTokenSourceBody
  /** The uid of the form, from its address. */
  survey: string
}

export interface SourceSystemFPipeline extends DataPipelineFields {
  type: "SOURCE_SYSTEM_F"
  apiSource: ApiLoginSource
  /** Codes of forms. Default: all forms. */
  forms?: string[]
  /** Whether people and places are loaded. Default: true. */
  contacts?: boolean
}

export interface SourceSystemFPipelineBody extends DataPipelineBodyFields {
  type?: "SOURCE_SYSTEM_F"
  apiSource: ApiLoginSourceBody
  /** Codes of forms. Default: all forms. */
  forms?: string[]
  /** Whether people and places are loaded. Default: true. */
  contacts?: boolean
}

export interface SourceSystemFSourceBody extends SourceBodyFields {
  type: "SOURCE_SYSTEM_F"
  apiSource: ApiLoginSourceBody
  /** Codes of forms. Default: all forms. */
  forms?: string[]
  /** Whether people and places are loaded. Default: true. */
  contacts?: boolean
}

export interface SourceSystemGPipeline extends DataPipelineFields {
  type: "SOURCE_SYSTEM_G"
  apiSource: ApiLoginSource
  /** The number of the project. */
  project: string
  /** The XML form id. */
  form: string
  /** Whether deleted submissions are loaded and marked. */
  includeDeleted?: boolean
}

export interface SourceSystemGPipelineBody extends DataPipelineBodyFields {
  type?: "SOURCE_SYSTEM_G"
  apiSource: ApiLoginSourceBody
  /** The number of the project. */
  project: string
  /** The XML form id. */
  form: string
  /** Whether deleted submissions are loaded and marked. */
  includeDeleted?: boolean
}

export interface SourceSystemGSourceBody extends SourceBodyFields {
  type: "SOURCE_SYSTEM_G"
  apiSource: ApiLoginSourceBody
  /** The number of the project. */
  project: string
  /** The XML form id. */
  form: string
  /** Whether deleted submissions are loaded and marked. */
  includeDeleted?: boolean
}

export interface SourceSystemHPipeline extends DataPipelineFields {
  type: "SOURCE_SYSTEM_H"
  apiSource: ApiTokenSource
  /** Ids of facilities. */
  facilities: string[]
  /** Requisitions initiated since this day. */
  startDate: string
  /** Requisitions initiated until this day, inclusive. */
  endDate: string
}

export interface SourceSystemHPipelineBody extends DataPipelineBodyFields {
  type?: "SOURCE_SYSTEM_H"
  apiSource: ApiTokenSourceBody
  /** Ids of facilities. */
  facilities: string[]
  /** Requisitions initiated since this day. */
  startDate: string
  /** Requisitions initiated until this day, inclusive. */
  endDate: string
}

export interface SourceSystemHSourceBody extends SourceBodyFields {
  type: "SOURCE_SYSTEM_H"
  apiSource: ApiTokenSourceBody
  /** Ids of facilities. */
  facilities: string[]
  /** Requisitions initiated since this day. */
  startDate: string
  /** Requisitions initiated until this day, inclusive. */
  endDate: string
}

export interface SourceSystemIPipeline extends DataPipelineFields {
  type: "SOURCE_SYSTEM_I"
  apiSource: ApiLoginSource
  /** The kinds of records to load. Each becomes a table; nested lists become child tables. */
  entities: ("CASES" | "CONTACTS" | "EVENTS" | "EVENT_PARTICIPANTS" | "PERSONS" | "SAMPLES" | "PATHOGEN_TESTS" | "ADDITIONAL_TESTS" | "IMMUNIZATIONS" | "VISITS" | "TASKS" | "TREATMENTS" | "PRESCRIPTIONS" | "CLINICAL_VISITS" | "WEEKLY_REPORTS" | "ENVIRONMENTS" | "ENVIRONMENT_SAMPLES")[]
  /** Records changed since this day. */
  startDate?: string
}

export interface SourceSystemIPipelineBody extends DataPipelineBodyFields {
  type?: "SOURCE_SYSTEM_I"
  apiSource: ApiLoginSourceBody
  /** The kinds of records to load. Each becomes a table; nested lists become child tables. */
  entities: ("CASES" | "CONTACTS" | "EVENTS" | "EVENT_PARTICIPANTS" | "PERSONS" | "SAMPLES" | "PATHOGEN_TESTS" | "ADDITIONAL_TESTS" | "IMMUNIZATIONS" | "VISITS" | "TASKS" | "TREATMENTS" | "PRESCRIPTIONS" | "CLINICAL_VISITS" | "WEEKLY_REPORTS" | "ENVIRONMENTS" | "ENVIRONMENT_SAMPLES")[]
  /** Records changed since this day. */
  startDate?: string
}

export interface SourceSystemISourceBody extends SourceBodyFields {
  type: "SOURCE_SYSTEM_I"
  apiSource: ApiLoginSourceBody
  /** The kinds of records to load. Each becomes a table; nested lists become child tables. */
  entities: ("CASES" | "CONTACTS" | "EVENTS" | "EVENT_PARTICIPANTS" | "PERSONS" | "SAMPLES" | "PATHOGEN_TESTS" | "ADDITIONAL_TESTS" | "IMMUNIZATIONS" | "VISITS" | "TASKS" | "TREATMENTS" | "PRESCRIPTIONS" | "CLINICAL_VISITS" | "WEEKLY_REPORTS" | "ENVIRONMENTS" | "ENVIRONMENT_SAMPLES")[]
  /** Records changed since this day. */
  startDate?: string
}

export interface SpreadsheetSource {
  /** The address of the spreadsheet in the browser. */
  url: string
  /** Which secrets are stored. */
  secretStatus: {
    serviceAccountKey: SecretStatus
    authToken: SecretStatus
  }
}

export interface SpreadsheetSourceBody {
  /** The address of the spreadsheet in the browser. */
  url: string
  /** The JSON key file of an account that the spreadsheet is shared with. Without it, an API key is needed. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  serviceAccountKey?: string | null
  /** An API key is sufficient if everyone with the link can view the spreadsheet. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
}

export interface SpreadsheetSourceBodyOfConfiguration {
  /** The address of the spreadsheet in the browser. */
  url: string
  /** The JSON key file of an account that the spreadsheet is shared with. Without it, an API key is needed. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  serviceAccountKey?: string | null
  /** An API key is sufficient if everyone with the link can view the spreadsheet. Responses omit it. An absent or null value keeps the stored one; an empty text deletes it. */
  authToken?: string | null
}

export interface SpreadsheetSourceBodyOfExport {
  /** The address of the spreadsheet in the browser. */
  url: string
}

export interface SqlDatabaseAPipeline extends DataPipelineFields {
  type: "SQL_DATABASE_A"
  jdbcSource: JdbcSource
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
  defaultPort: number
  jdbcConnectionUrl: string
}

export interface SqlDatabaseAPipelineBody extends DataPipelineBodyFields {
  type?: "SQL_DATABASE_A"
  jdbcSource: JdbcSourceBody
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface SqlDatabaseASourceBody extends SourceBodyFields {
  type: "SQL_DATABASE_A"
  jdbcSource: JdbcSourceBody
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface SqlDatabaseBPipeline extends DataPipelineFields {
  type: "SQL_DATABASE_B"
  jdbcSource: JdbcSource
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
  defaultPort: number
  jdbcConnectionUrl: string
}

export interface SqlDatabaseBPipelineBody extends DataPipelineBodyFields {
  type?: "SQL_DATABASE_B"
  jdbcSource: JdbcSourceBody
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface SqlDatabaseBSourceBody extends SourceBodyFields {
  type: "SQL_DATABASE_B"
  jdbcSource: JdbcSourceBody
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface SqlDatabaseCPipeline extends DataPipelineFields {
  type: "SQL_DATABASE_C"
  jdbcSource: JdbcSource
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
  defaultPort: number
  jdbcConnectionUrl: string
}

export interface SqlDatabaseCPipelineBody extends DataPipelineBodyFields {
  type?: "SQL_DATABASE_C"
  jdbcSource: JdbcSourceBody
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface SqlDatabaseCSourceBody extends SourceBodyFields {
  type: "SQL_DATABASE_C"
  jdbcSource: JdbcSourceBody
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface SqlDatabaseDPipeline extends DataPipelineFields {
  type: "SQL_DATABASE_D"
  jdbcSource: JdbcSource
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
  defaultPort: number
  jdbcConnectionUrl: string
}

export interface SqlDatabaseDPipelineBody extends DataPipelineBodyFields {
  type?: "SQL_DATABASE_D"
  jdbcSource: JdbcSourceBody
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface SqlDatabaseDSourceBody extends SourceBodyFields {
  type: "SQL_DATABASE_D"
  jdbcSource: JdbcSourceBody
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier?: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region?: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface SqlQueryResult {
  columns: Column[]
  rows: unknown[][]
  /** The number of rows in this response. */
  height: number
  width: number
  /** Whether the query has more rows than this response, because of `limit` or the limit of 4 MB. */
  more: boolean
  queryStartTime: string
  /** Milliseconds. */
  queryDuration: number
}

export interface Step {
  /** SERIAL, the default: one job after the other. PARALLEL: all jobs of the step, limited by the slots of the organisation; further jobs are QUEUED. */
  executionMode: "SERIAL" | "PARALLEL"
  /** Seconds between the end of the step and the start of the next one. Default: 0. */
  delayAfter: number
  disabled: boolean
  jobs: Job[]
}

export interface StepBody {
  /** SERIAL, the default: one job after the other. PARALLEL: all jobs of the step, limited by the slots of the organisation; further jobs are QUEUED. */
  executionMode?: "SERIAL" | "PARALLEL"
  /** Seconds between the end of the step and the start of the next one. Default: 0. */
  delayAfter?: number
  /** Whether the jobs of the step are skipped. Default: false. */
  disabled?: boolean
  jobs?: JobBody[]
}

export interface StepBodyOfConfiguration {
  /** SERIAL, the default: one job after the other. PARALLEL: all jobs of the step, limited by the slots of the organisation; further jobs are QUEUED. */
  executionMode?: "SERIAL" | "PARALLEL"
  /** Seconds between the end of the step and the start of the next one. Default: 0. */
  delayAfter?: number
  /** Whether the jobs of the step are skipped. Default: false. */
  disabled?: boolean
  jobs?: ConfiguredJob[]
}

export interface StepBodyOfExport {
  /** SERIAL, the default: one job after the other. PARALLEL: all jobs of the step, limited by the slots of the organisation; further jobs are QUEUED. */
  executionMode?: "SERIAL" | "PARALLEL"
  /** Seconds between the end of the step and the start of the next one. Default: 0. */
  delayAfter?: number
  /** Whether the jobs of the step are skipped. Default: false. */
  disabled?: boolean
  jobs?: ConfiguredJob[]
}

export interface Table {
  schema: string
  name: string
  displayName?: string
  /** The text that a user has written about the table; otherwise the description of its pipeline or view. */
  description?: string
  size: number
  rowCount: number
  columnCount: number
  sizeMb: number
  sizePretty: string
  qualifiedTableName: string
  tableName: string
  columns: Column[]
  foreignKeys: ForeignKey[]
}

export interface TableDescriptionsBody {
  description?: string
  columns?: ColumnDescriptionBody[]
}

export interface TableListQuery {
  /** Returns only tables whose name contains this text. */
  query?: string
  page?: number
  /** Default: 50. */
  pageSize?: number
}

export interface TableMetadata {
  schema?: string
  name: string
  /** The increments of this table. Default: `incremental` of the pipeline. */
  incremental?: IncrementalRead
}

export interface TableMetadataOfConfiguration {
  schema?: string
  name: string
  /** The increments of this table. Default: `incremental` of the pipeline. */
  incremental?: IncrementalReadOfConfiguration
}

export interface TableMetadataOfExport {
  schema?: string
  name: string
  /** The increments of this table. Default: `incremental` of the pipeline. */
  incremental?: IncrementalReadOfExport
}

export interface TableProfile {
  schema: string
  name: string
  /** TABLE: the profile describes all rows of the table. LOAD: the last load was incremental, and the profile describes the rows that it merged into the table. */
  scope: "TABLE" | "LOAD"
  /** The number of rows that were measured. */
  rows: number
  measured: string
  /** The run that loaded the rows. */
  taskId: string
  columns: ColumnProfile[]
}

export interface TableProgress {
  table: string
  /** Rows so far. */
  rowsRead: number
  /** All tables are published together after the last one has been read. */
  state: "READING" | "READ"
}

export interface TablePublication {
  /** The run. */
  taskId: string
  published: string
  action: "RUN" | "RESTORE"
  status: "OK" | "WARNING"
  /** The mode in which the rows were written: MERGE for an increment, too. Absent for a restore, and for an increment that another worker finished after a crash. */
  writeMode?: "REPLACE" | "APPEND" | "MERGE"
  trigger: "MANUAL" | "SCHEDULE" | "WORKFLOW"
  /** The user. Absent for schedules and workflows. */
  startedBy?: string
  /** The uploaded file of the run. */
  file?: RunFile
  /** Rows of the source that were read. */
  rowsRead: number
  rowsRejected: number
  /** The message of the run. */
  message?: string
  tables: PublishedTable[]
}

export interface TableSummary {
  schema: string
  id: string
  name: string
  displayName?: string
  description?: string
  size: number
  sizeMb: number
  rowCount: number
  foreignKeys: ForeignKey[]
}

export interface TabularResult {
  table: string
  title: string
  subtitle: string
  metaData: Record<string, {}>
  rows: unknown[][]
  visibleRows: unknown[][]
  metaColumnIndexes: number[]
  headers: Header[]
  visibleHeaders: Header[]
  height: number
  width: number
  visibleWidth: number
}

export interface TargetBody {
  /** The base address of DHIS2, without /api. */
  url: string
  username?: string
  password?: string
  authToken?: string
}

export interface TargetLookupBody {
  /** The base address of DHIS2, without /api. */
  url?: string
  username?: string
  password?: string
  authToken?: string
  /** Returns only options whose name contains this text. */
  query?: string
}

export interface Transformation {
  sqlStatements: ({
    description?: string
    statement: string
  })[]
}

export interface TransformationBody {
  sqlStatements?: ({
    description?: string
    statement: string
  })[]
}

export interface TransformationBodyOfConfiguration {
  sqlStatements?: ({
    description?: string
    statement: string
  })[]
}

export interface TransformationBodyOfExport {
  sqlStatements?: ({
    description?: string
    statement: string
  })[]
}

export interface Translation {
  locale: string
  property: "name" | "NAME" | "description" | "DESCRIPTION"
  value: string
}

export interface TranslationOfObject {
  locale: string
  property: string
  value: string
}

export interface UploadQuery {
  /** The file's name. */
  name?: string
}

export interface UploadedFile {
  name: string
  size: number
  sha256: string
  uploaded: string
  uploadedBy?: string
  /** Only in the response to an upload: the columns that have changed since the last load and what a run will do, or the reason why a run would fail. */
  mismatch?: string
  /** Only in the response to an upload: why the stored file was not checked. It may be damaged or have other columns. */
  checkSkipped?: string
}

export interface Variable {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  client: string
  name: string
  translations?: Translation[]
  /** Stored encrypted and never returned. */
  secured: boolean
  /** Absent if the variable is secured. */
  value?: string
  /** Whether and since when the value of a secured variable is stored. */
  secretStatus?: {
    value: SecretStatus
  }
}

export interface VariableBody {
  name: string
  translations?: Translation[]
  /** Stored encrypted and never returned. */
  secured: boolean
  /** If omitted, the stored value stays. Required for a new variable, and to make a secured variable unsecured. */
  value?: string
}

export interface View {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  client: string
  name: string
  translations?: Translation[]
  description?: string
  tags?: string[]
  /** One SELECT, VALUES, TABLE or WITH … SELECT, without variables. Names without a schema are searched in the schema of the view. */
  query: string
  /** Whether the rows of the view are stored, and refreshed by each run. */
  materialized: boolean
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated: boolean
  triggerExpression?: string
  scheduleable: boolean
  schema: ReferencedSchema
  dataWarehouseViewName: string
  qualifiedDataWarehouseViewName: string
  warehouseAViewName: string
  status: ViewStatus
  anonymousAccess: AnonymousAccess
  access: Access
  displayDescription?: string
  tagString?: string
}

export interface ViewBody {
  status?: ViewStatusBody
  name: string
  translations?: Translation[]
  description?: string
  tags?: string[]
  /** One SELECT, VALUES, TABLE or WITH … SELECT, without variables. Names without a schema are searched in the schema of the view. */
  query: string
  /** Whether the rows of the view are stored, and refreshed by each run. */
  materialized: boolean
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated?: boolean
  schema: SchemaReference
  /** The name of the view in the warehouse. Default: derived from the name of this object. */
  dataWarehouseViewName?: string
  /** Alternative to dataWarehouseViewName. A new name in either field applies. Two different new names are rejected with 422. */
  warehouseAViewName?: string
  /** Absent fields mean false. */
  anonymousAccess?: AnonymousAccessBody
  access?: AccessPart
}

export interface ViewDefinition {
  name: string
  resource: string
  select: ({})[]
  where?: ({})[]
  constant?: ({})[]
}

export interface ViewDefinitionOfConfiguration {
  name: string
  resource: string
  select: ({})[]
  where?: ({})[]
  constant?: ({})[]
}

export interface ViewDefinitionOfExport {
  name: string
  resource: string
  select: ({})[]
  where?: ({})[]
  constant?: ({})[]
}

export interface ViewPreviewBody {
  /** One SELECT, VALUES, TABLE or WITH … SELECT, without variables. Names without a schema are searched in the schema of the view. */
  query: string
  schema: SchemaReference
  /** Number of rows. Default: 100. */
  rows?: number
}

export interface ViewReference {
  id: string
}

export interface ViewStatus {
  /** PENDING: a table that the view reads does not exist yet. The view is built as soon as that table exists. */
  lastRunStatus: "OK" | "WARNING" | "FAILED" | "RUNNING" | "QUEUED" | "CANCELLED" | "NEVER_RUN" | "PENDING"
  lastRunSuccess?: string
  lastRun?: string
  nextFullReplaceRun?: string
  lastRunDuration?: string
  jobId?: string
  /** For a pending view: the tables that it waits for. */
  pendingReason?: string
  /** The id of an external dashboard that shows the view. The service only stores it. */
  visualizationId?: number
  /** The address of an external dashboard that shows the view. The service only stores it. */
  visualizationHref?: string
}

export interface ViewStatusBody {
  /** The id of an external dashboard that shows the view. The service only stores it. */
  visualizationId?: number
  /** The address of an external dashboard that shows the view. The service only stores it. */
  visualizationHref?: string
}

export interface ViewStatusBodyOfConfiguration {
  /** The id of an external dashboard that shows the view. The service only stores it. */
  visualizationId?: number
  /** The address of an external dashboard that shows the view. The service only stores it. */
  visualizationHref?: string
}

export interface ViewStatusBodyOfExport {
  /** The id of an external dashboard that shows the view. The service only stores it. */
  visualizationId?: number
  /** The address of an external dashboard that shows the view. The service only stores it. */
  visualizationHref?: string
}

export interface ViewsBody {
  views: ViewBody[]
}

export interface WarehouseAPipeline extends DataPipelineFields {
  type: "WAREHOUSE_A"
  jdbcSource: JdbcSource
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
  defaultPort: number
  jdbcConnectionUrl: string
}

export interface WarehouseAPipelineBody extends DataPipelineBodyFields {
  type?: "WAREHOUSE_A"
  jdbcSource: JdbcSourceBody
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface WarehouseASourceBody extends SourceBodyFields {
  type: "WAREHOUSE_A"
  jdbcSource: JdbcSourceBody
  /** One statement that only reads data. Set either this or `tables`. */
  sqlQuery?: string
  /** Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none. */
  tables?: TableMetadata[]
  /** Allows incremental runs, which read new and changed rows only. Without it, each run reads everything. */
  incremental?: Incremental
  /** The ARN of the role that reads and writes files on behalf of the warehouse. */
  roleIdentifier: string
  /** The region of the warehouse. DEFAULT is the region of the service. */
  region: "DEFAULT" | "US_EAST_1" | "US_EAST_2" | "US_WEST_1" | "US_WEST_2" | "AF_SOUTH_1" | "EU_CENTRAL_1" | "EU_WEST_1" | "EU_WEST_2" | "EU_WEST_3" | "EU_SOUTH_1" | "EU_NORTH_1"
}

export interface WarehouseCertificate {
  /** The certificates of the authority that signed the server’s certificate, in PEM format. */
  certificate: string
}

export interface WarehouseReader {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  client: string
  name: string
  translations?: NameTranslation[]
  /** The login ends at this time. Default: never. */
  expires?: string
  /** The networks from which the login may connect, as CIDR blocks. An empty list allows all networks. Setting it needs ROLE_MANAGE_FIREWALL_RULE, and seeing it ROLE_SEE_FIREWALL_RULE. If omitted, the stored list stays. */
  networks?: string[]
  schemas: ReferencedSchema[]
  /** ACTIVE: the login works as described here. PENDING: the last change is stored, and the warehouse does not have it yet; a worker tries again every five seconds. EXPIRED: the time in `expires` has passed. */
  readerStatus: "ACTIVE" | "EXPIRED" | "PENDING"
  /** The last time at which a worker saw an open session. It can be a minute too early, and sessions of less than five seconds may be missed. */
  lastUsed?: string
  connection: ReaderConnection
}

export interface WarehouseReaderBody {
  name: string
  translations?: NameTranslation[]
  /** The login ends at this time. Default: never. */
  expires?: string
  /** The networks from which the login may connect, as CIDR blocks. An empty list allows all networks. Setting it needs ROLE_MANAGE_FIREWALL_RULE, and seeing it ROLE_SEE_FIREWALL_RULE. If omitted, the stored list stays. */
  networks?: string[]
  /** The schemas whose tables and views the login reads. All of them are in one warehouse. */
  schemas: Reference[]
}

export interface Workflow {
  id: string
  created: string
  lastUpdated: string
  displayName: string
  createdBy?: string
  lastUpdatedBy?: string
  /** What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404. */
  may: ("read" | "write" | "run" | "share" | "delete")[]
  client: string
  name: string
  translations?: Translation[]
  description?: string
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  continuouslyUpdated: boolean
  triggerExpression?: string
  scheduleable: boolean
  displayDescription?: string
  steps: WorkflowSteps
  status: RunStatus
  access: Access
}

export interface WorkflowBody {
  name: string
  translations?: Translation[]
  description?: string
  disabled: boolean
  runTrigger: "EVERY_15_MIN" | "EVERY_30_MIN" | "EVERY_HOUR" | "EVERY_3_HOURS" | "EVERY_DAY_0AM" | "EVERY_DAY_2AM" | "EVERY_NIGHT_RANDOM" | "EVERY_WEEKDAY" | "EVERY_SATURDAY" | "EVERY_SATURDAY_NIGHT_RANDOM" | "EVERY_MONTH" | "EVERY_MONTH_RANDOM" | "CUSTOM" | "NEVER"
  cronExpression?: string
  /** Minutes between two continuous updates. */
  continuousUpdateInterval?: number
  /** Hours between two full refreshes of a continuously updated object. */
  fullRefreshInterval?: number
  /** Whether runs between two full loads are incremental, for jobs that support it. */
  continuouslyUpdated: boolean
  steps: WorkflowStepsBody
  access?: AccessPart
}

export interface WorkflowRunJob {
  step: number
  job: number
  jobType: "DATA_PIPELINE_LOAD" | "VIEW_REFRESH" | "DATA_QUALITY_CHECK_GROUP_RUN" | "DESTINATION_PUSH"
  name: string
  /** The object that the job runs; absent after its deletion. */
  uid?: string
  /** SKIPPED: the job is disabled, or an earlier job failed. */
  status: "WAITING" | "QUEUED" | "RUNNING" | "OK" | "WARNING" | "FAILED" | "CANCELLED" | "SKIPPED"
  /** The run that the job started or waits for. */
  taskId?: string
  started?: string
  finished?: string
}

export interface WorkflowSearchResult {
  results: Workflow[]
  pager: Pager
}

export interface WorkflowSteps {
  /** STOP, the default, skips all jobs after a failed one. CONTINUE runs them. */
  errorStrategy: "STOP" | "CONTINUE"
  steps: Step[]
}

export interface WorkflowStepsBody {
  /** STOP, the default, skips all jobs after a failed one. CONTINUE runs them. */
  errorStrategy?: "STOP" | "CONTINUE"
  steps?: StepBody[]
}

export interface WorkflowStepsBodyOfConfiguration {
  /** STOP, the default, skips all jobs after a failed one. CONTINUE runs them. */
  errorStrategy?: "STOP" | "CONTINUE"
  steps?: StepBodyOfConfiguration[]
}

export interface WorkflowStepsBodyOfExport {
  /** STOP, the default, skips all jobs after a failed one. CONTINUE runs them. */
  errorStrategy?: "STOP" | "CONTINUE"
  steps?: StepBodyOfExport[]
}

export interface WorkflowsBody {
  workflows: WorkflowBody[]
}
