import { Type } from 'typebox'
import { exportFields } from './export-format.ts'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import {
  ComparedTime,
  SingleLineText,
  LongText,
  Timestamp,
  Uid,
  NonNegativeNumber,
  NonNegativeInteger,
} from '../field-types.ts'
import { TableSummary, Table } from './table.ts'
import { maxJobs, WorkflowRunJob } from './workflow-run.ts'

/** The kinds of objects that can be run. */
export const runnableKinds = ['DATA_PIPELINE', 'VIEW', 'DESTINATION', 'DATA_QUALITY_CHECK_GROUP', 'WORKFLOW'] as const
export const runStatuses = ['OK', 'WARNING', 'FAILED', 'RUNNING', 'QUEUED', 'CANCELLED', 'NEVER_RUN'] as const
export const runOrigins = ['MANUAL', 'SCHEDULE', 'WORKFLOW'] as const
export type RunOrigin = (typeof runOrigins)[number]
export const logLevels = ['DEBUG', 'INFO', 'WARN', 'ERROR'] as const
export const logImportances = ['LOW', 'MEDIUM', 'HIGH'] as const

const runStatusFields = {
  lastRunStatus: Type.Enum([...runStatuses]),
  lastRunSuccess: Type.Optional(Timestamp),
  lastRun: Type.Optional(Timestamp),
  nextFullReplaceRun: Type.Optional(Timestamp),
  /** The duration in ISO 8601 format. */
  lastRunDuration: Type.Optional(SingleLineText),
  jobId: Type.Optional(SingleLineText),
}

export const RunStatus = defineContract('RunStatus', Type.Object(runStatusFields, noUnknownFields))
export type RunStatus = TypeOf<typeof RunStatus>

/** The progress of a running load. Counts start again if the load reads the source again. Unknown values are absent. */
export const LoadProgress = defineContract(
  'Progress',
  Type.Object(
    {
      bytesRead: NonNegativeInteger,
      bytesTotal: Type.Optional(NonNegativeInteger),
      rowsRead: NonNegativeInteger,
      rowsRejected: NonNegativeInteger,
      percentage: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: 100,
          description:
            'Percentage of the bytes. It never decreases, even if a source is read again; 100 means published.',
        }),
      ),
      rowsPerSecond: NonNegativeNumber,
      bytesPerSecond: NonNegativeNumber,
      estimatedEnd: Type.Optional({
        ...Timestamp,
        description: 'Estimated time when reading ends, at the current rate.',
      }),
      tables: Type.Optional(
        Type.Array(
          Type.Object(
            {
              table: SingleLineText,
              rowsRead: { ...NonNegativeInteger, description: 'Rows so far.' },
              state: Type.Enum(['READING', 'READ'], {
                description: 'All tables are published together after the last one has been read.',
              }),
            },
            { ...noUnknownFields, title: 'TableProgress' },
          ),
          {
            maxItems: 200,
            description:
              'The tables that a run has started to read, if it fills several; the last 200 of them. Absent in lists over several objects. If the run failed during a table, its state is READING.',
          },
        ),
      ),
    },
    noUnknownFields,
  ),
)

export type LoadProgress = TypeOf<typeof LoadProgress>

export const DataPipelineStatus = defineContract(
  'DataPipelineStatus',
  Type.Object(
    {
      ...runStatusFields,
      taskId: Type.Optional(SingleLineText),
      /** Present while a run is in progress. */
      progress: Type.Optional(LoadProgress),
      /**
       * The tables after the last successful run: the pipeline's target table, and the tables of repeat groups and
       * other streams.
       */
      tables: Type.Array(TableSummary, { maxItems: 1000 }),
      mainTableAsTable: Type.Optional(Table),
    },
    noUnknownFields,
  ),
)

export type DataPipelineStatus = TypeOf<typeof DataPipelineStatus>

/** The modes in which a load writes its rows to the table. */
export const writeModes = ['REPLACE', 'APPEND', 'MERGE'] as const
export type WriteMode = (typeof writeModes)[number]

export const runActions = ['RUN', 'DRY_RUN', 'RESTORE'] as const
export const tableChanges = [
  'COLUMN_ADDED',
  'COLUMN_VANISHED',
  'COLUMN_EMPTIED',
  'COLUMN_DROPPED',
  'TYPE_WIDENED',
  'TYPE_CHANGED',
  'SHAPE_REPLACED',
  'ROWS_FELL',
  'PART_NOT_READ',
  'VIEWS_RECREATED',
] as const

const TableChanges = Type.Array(
  Type.Object(
    {
      kind: Type.Enum([...tableChanges]),
      column: Type.Optional({
        ...SingleLineText,
        description: 'The changed column. Absent if the change concerns the whole table.',
      }),
      from: Type.Optional({
        ...SingleLineText,
        description:
          'The value before: a type, such as DECIMAL(12,2), or a number of rows. A type that no load creates has the name that the warehouse gives it.',
      }),
      to: Type.Optional({
        ...LongText,
        description: 'The value after, like `from`. For PART_NOT_READ, a sentence about the part that was not read.',
      }),
      rows: Type.Optional({
        ...NonNegativeInteger,
        description: 'For COLUMN_EMPTIED: the number of rows in the source, none of which has a value in the column.',
      }),
      warning: Type.Boolean({ description: 'Whether this change gives the run the status WARNING.' }),
    },
    noUnknownFields,
  ),
  { maxItems: 4000 },
)

/** A table as a run would have changed it. Part of the result of a dry run. */
export const PlannedTable = defineContract(
  'PlannedTable',
  Type.Object(
    {
      schema: SingleLineText,
      table: SingleLineText,
      rowsBefore: Type.Optional({ ...NonNegativeInteger, description: 'Absent if the table does not exist yet.' }),
      rowsAfter: NonNegativeInteger,
      changes: TableChanges,
    },
    noUnknownFields,
  ),
)

export type PlannedTable = TypeOf<typeof PlannedTable>

/** The uploaded file that a run loads. */
export const RunFile = defineContract(
  'RunFile',
  Type.Object(
    {
      name: SingleLineText,
      /** Bytes. */
      size: NonNegativeInteger,
      /** The SHA-256 digest of the received bytes, in hexadecimal. */
      sha256: Type.String({ maxLength: 64 }),
      uploaded: Type.Optional({
        ...Timestamp,
        description: 'Absent for runs that an earlier version of Sluice started.',
      }),
    },
    noUnknownFields,
  ),
)

export type RunFile = TypeOf<typeof RunFile>

const runFields = {
  taskId: Uid,
  status: Type.Enum([...runStatuses]),
  trigger: Type.Enum([...runOrigins]),
  mode: Type.Enum(['FULL', 'INCREMENTAL'], {
    description: 'The requested mode. The log shows if it was not possible.',
  }),
  action: Type.Enum([...runActions], {
    description:
      'RUN. Data pipelines also have DRY_RUN, which publishes nothing, and RESTORE, which publishes the rows before the last publication.',
  }),
  scheduledFor: Type.Optional({ ...Timestamp, description: 'The scheduled time of the run.' }),
  attempt: NonNegativeInteger,
  created: Timestamp,
  started: Type.Optional(Timestamp),
  finished: Type.Optional(Timestamp),
  duration: Type.Optional(SingleLineText),
  startedBy: Type.Optional(SingleLineText),
  file: Type.Optional({ ...RunFile, description: 'The uploaded file of the run.' }),
  progress: LoadProgress,
  rowsWritten: Type.Optional(NonNegativeInteger),
  bytesWritten: Type.Optional(NonNegativeInteger),
  /** The outcome for users: what happened, where, why, and what to do. */
  message: Type.Optional(LongText),
  errorCode: Type.Optional(SingleLineText),
}

export const Run = defineContract(
  'Run',
  Type.Object(
    {
      ...runFields,
      /** Present for a dry run that computed its plan. */
      plannedTables: Type.Optional(Type.Array(PlannedTable, { maxItems: 1000 })),
      /** Present for a run of a workflow. */
      jobs: Type.Optional(Type.Array(WorkflowRunJob, { maxItems: maxJobs })),
    },
    noUnknownFields,
  ),
)

export type Run = TypeOf<typeof Run>

/** A publication of a pipeline's tables: a run that changed their rows, or restored the previous ones. */
export const TablePublication = defineContract(
  'TablePublication',
  Type.Object(
    {
      taskId: { ...Uid, description: 'The run.' },
      published: Timestamp,
      action: Type.Enum(['RUN', 'RESTORE']),
      status: Type.Enum(['OK', 'WARNING']),
      writeMode: Type.Optional(
        Type.Enum([...writeModes], {
          description:
            'The mode in which the rows were written: MERGE for an increment, too. Absent for a restore, and for an increment that another worker finished after a crash.',
        }),
      ),
      trigger: Type.Enum([...runOrigins]),
      startedBy: Type.Optional({ ...SingleLineText, description: 'The user. Absent for schedules and workflows.' }),
      file: Type.Optional({ ...RunFile, description: 'The uploaded file of the run.' }),
      rowsRead: { ...NonNegativeInteger, description: 'Rows of the source that were read.' },
      rowsRejected: NonNegativeInteger,
      message: Type.Optional({ ...LongText, description: 'The message of the run.' }),
      tables: Type.Array(
        Type.Object(
          {
            schema: SingleLineText,
            table: SingleLineText,
            rowsWritten: { ...NonNegativeInteger, description: 'Rows of this run, after its transformation.' },
            rowsAdded: Type.Optional({
              ...NonNegativeInteger,
              description:
                'For APPEND and MERGE: rows that were not in the table before. Only PostgreSQL and ClickHouse count them, `rowsChanged` and `rowsRemoved`.',
            }),
            rowsChanged: Type.Optional({
              ...NonNegativeInteger,
              description:
                'For APPEND and MERGE: rows in which a value changed. A run that changes no row and no column of any table leaves nothing to undo, so a restore undoes the last run before it that changed something.',
            }),
            rowsRemoved: Type.Optional({
              ...NonNegativeInteger,
              description:
                'For APPEND and MERGE: rows that were removed, because the source marks them as deleted, or because they belong to a changed part of the source.',
            }),
            rowsBefore: Type.Optional({
              ...NonNegativeInteger,
              description: 'Rows of the whole table before the publication. Absent for a new table.',
            }),
            rowsAfter: { ...NonNegativeInteger, description: 'Rows of the whole table after the publication.' },
            bytesWritten: NonNegativeInteger,
            changes: TableChanges,
          },
          { ...noUnknownFields, title: 'PublishedTable' },
        ),
        { maxItems: 1000 },
      ),
    },
    noUnknownFields,
  ),
)
export type TablePublication = TypeOf<typeof TablePublication>

/** The object that a run or schedule belongs to. */
export const RunnableObject = defineContract(
  'RunnableObject',
  Type.Object({ kind: Type.Enum([...runnableKinds]), id: Uid, name: SingleLineText }, noUnknownFields),
)

/**
 * A run in a list over several objects. In the list of an object's own runs, runs also contain planned tables and jobs.
 */
export const ObjectRun = defineContract(
  'ObjectRun',
  Type.Object({ ...runFields, object: RunnableObject }, noUnknownFields),
)

export type ObjectRun = TypeOf<typeof ObjectRun>

const runFilters = {
  kind: Type.Optional(
    Type.Array(Type.Enum([...runnableKinds]), {
      maxItems: 10,
      description: 'Kinds of objects. Repeat the parameter for several kinds.',
    }),
  ),
  status: Type.Optional(
    Type.Array(Type.Enum(['QUEUED', 'RUNNING', 'OK', 'WARNING', 'FAILED', 'CANCELLED']), {
      maxItems: 10,
      description: 'Repeat the parameter for several values.',
    }),
  ),
  trigger: Type.Optional(
    Type.Array(Type.Enum([...runOrigins]), { maxItems: 10, description: 'Repeat the parameter for several values.' }),
  ),
  schema: Type.Optional({ ...Uid, description: 'Only runs of the data pipelines and views of this schema.' }),
}

const CursorPageSize = Type.Integer({ minimum: 1, maximum: 200, description: 'Default: 50.' })
const CursorAfter = Type.String({
  maxLength: 2000,
  description:
    'The cursor of the previous page, from its header X-Next-Cursor. The other parameters must stay the same.',
})

/** Paging parameters for lists that support only cursors. */
export const cursorPageFields = { pageSize: Type.Optional(CursorPageSize), after: Type.Optional(CursorAfter) }

export const RunListQuery = defineContract(
  'RunListQuery',
  Type.Object(
    {
      ...runFilters,
      since: Type.Optional({ ...ComparedTime, description: 'Only runs that were created at this time or later.' }),
      ...cursorPageFields,
    },
    noUnknownFields,
  ),
)

export type RunListQuery = TypeOf<typeof RunListQuery>

export const RunStreamQuery = defineContract('RunStreamQuery', Type.Object(runFilters, noUnknownFields))
export type RunStreamQuery = TypeOf<typeof RunStreamQuery>

export const RunBody = defineContract(
  'RunBody',
  Type.Object(
    {
      mode: Type.Optional(
        Type.Enum(['FULL', 'INCREMENTAL'], {
          description:
            'FULL, the default, reads all rows and writes them by writeMode. INCREMENTAL continues after the last run; it needs writeMode REPLACE, and is refused (422) for a data pipeline that has no increments.',
        }),
      ),
      rebuild: Type.Optional(
        Type.Boolean({
          description:
            'For a data pipeline: the table gets its columns, types and rows from this load only, whatever its writeMode. Such a run is FULL.',
        }),
      ),
      repeatFile: Type.Optional(
        Type.Boolean({
          description:
            'For a data pipeline with an uploaded file and writeMode APPEND: adds the rows of the file again, although a run has already added them.',
        }),
      ),
      dryRun: Type.Optional(
        Type.Boolean({
          description:
            'For a data pipeline: reads and checks the source and compares it with the table, but publishes nothing. The result has `plannedTables`, rejected rows and check results. The start of another run cancels the dry run.',
        }),
      ),
    },
    noUnknownFields,
  ),
)

export type RunBody = TypeOf<typeof RunBody>

export const CursorResetBody = defineContract(
  'CursorResetBody',
  Type.Object(
    {
      from: Type.Optional({
        ...Timestamp,
        description:
          'The next incremental run reads the changes since this time. Without it, the next run reads everything.',
      }),
    },
    noUnknownFields,
  ),
)

export type CursorResetBody = TypeOf<typeof CursorResetBody>

export const LogEntry = defineContract(
  'LogEntry',
  Type.Object(
    {
      id: SingleLineText,
      created: Timestamp,
      lastUpdated: Timestamp,
      client: SingleLineText,
      dataPipeline: SingleLineText,
      taskId: SingleLineText,
      logLevel: Type.Enum([...logLevels]),
      logImportance: Type.Enum([...logImportances]),
      message: LongText,
    },
    noUnknownFields,
  ),
)

export type LogEntry = TypeOf<typeof LogEntry>

const pageFields = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
}

export const LogQuery = defineContract(
  'LogQuery',
  Type.Object(
    {
      taskId: Type.Optional(Uid),
      logLevel: Type.Optional(Type.Enum([...logLevels])),
      logImportance: Type.Optional(Type.Enum([...logImportances])),
      order: Type.Optional(Type.Enum(['ASC', 'DESC'])),
      ...pageFields,
    },
    noUnknownFields,
  ),
)

export type LogQuery = TypeOf<typeof LogQuery>

export const LogStreamQuery = defineContract(
  'LogStreamQuery',
  Type.Object(
    {
      taskId: Type.Optional({ ...Uid, description: 'One run; the stream ends when the run ends.' }),
      logLevel: Type.Optional(Type.Enum([...logLevels])),
      logImportance: Type.Optional(Type.Enum([...logImportances])),
    },
    noUnknownFields,
  ),
)

export type LogStreamQuery = TypeOf<typeof LogStreamQuery>

export const PageQuery = defineContract('PageQuery', Type.Object(pageFields, noUnknownFields))
export type PageQuery = TypeOf<typeof PageQuery>

export const RejectedRowsQuery = defineContract(
  'RejectedRowsQuery',
  Type.Object({ ...pageFields, ...exportFields }, noUnknownFields),
)

export type RejectedRowsQuery = TypeOf<typeof RejectedRowsQuery>

export const RejectedRow = defineContract(
  'RejectedRow',
  Type.Object(
    {
      line: NonNegativeInteger,
      column: Type.Optional(SingleLineText),
      reason: LongText,
      raw: Type.String({ maxLength: 8192 }),
    },
    noUnknownFields,
  ),
)

export type RejectedRow = TypeOf<typeof RejectedRow>
