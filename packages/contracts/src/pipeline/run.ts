import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Text, Timestamp, Uid, Amount, Count } from '../field-types.ts'
import { TableSummary, Table } from './table.ts'
import { mostJobs, WorkflowRunJob } from './workflow-run.ts'

export const runStatuses = ['OK', 'WARNING', 'FAILED', 'RUNNING', 'QUEUED', 'CANCELLED', 'NEVER_RUN'] as const
export const logLevels = ['DEBUG', 'INFO', 'WARN', 'ERROR'] as const
export const logImportances = ['LOW', 'MEDIUM', 'HIGH'] as const

const status = {
  lastRunStatus: Type.Enum([...runStatuses]),
  lastRunSuccess: Type.Optional(Timestamp),
  lastRun: Type.Optional(Timestamp),
  nextFullReplaceRun: Type.Optional(Timestamp),
  /** A duration in ISO 8601. */
  lastRunDuration: Type.Optional(Line),
  jobId: Type.Optional(Line),
}

export const RunStatus = contract('RunStatus', Type.Object(status, closed))
export type RunStatus = TypeOf<typeof RunStatus>

/** Progress of a running load. Counts start again when the load reads the source again. Unknown values are absent. */
export const Progress = contract(
  'Progress',
  Type.Object(
    {
      bytesRead: Count,
      bytesTotal: Type.Optional(Count),
      rowsRead: Count,
      rowsRejected: Count,
      percentage: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: 100,
          description:
            'Percentage of the bytes. It never decreases, even if a source is read again; 100 means published.',
        }),
      ),
      rowsPerSecond: Amount,
      bytesPerSecond: Amount,
      estimatedEnd: Type.Optional({
        ...Timestamp,
        description: 'Estimated time when reading ends, at the current rate.',
      }),
    },
    closed,
  ),
)
export type Progress = TypeOf<typeof Progress>

export const DataPipelineStatus = contract(
  'DataPipelineStatus',
  Type.Object(
    {
      ...status,
      taskId: Type.Optional(Line),
      /** Present while a run is in progress. */
      progress: Type.Optional(Progress),
      /**
       * The tables after the last successful run: the target table of the pipeline, and the tables of repeat groups and other
       * streams.
       */
      tables: Type.Array(TableSummary, { maxItems: 1000 }),
      mainTableAsTable: Type.Optional(Table),
    },
    closed,
  ),
)
export type DataPipelineStatus = TypeOf<typeof DataPipelineStatus>

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

/** A table as a run would have changed it, in the result of a dry run. */
export const PlannedTable = contract(
  'PlannedTable',
  Type.Object(
    {
      schema: Line,
      table: Line,
      rowsBefore: Type.Optional({ ...Count, description: 'Absent if the table does not exist yet.' }),
      rowsAfter: Count,
      changes: Type.Array(
        Type.Object(
          {
            kind: Type.Enum([...tableChanges]),
            column: Type.Optional({
              ...Line,
              description: 'The changed column. Absent if the change concerns the whole table.',
            }),
            from: Type.Optional({
              ...Line,
              description: 'The value before: a type name of the warehouse, or a number of rows.',
            }),
            to: Type.Optional({
              ...Text,
              description:
                'The value after, like `from`. For PART_NOT_READ, a sentence about the part that was not read.',
            }),
            rows: Type.Optional({
              ...Count,
              description:
                'For COLUMN_EMPTIED: the number of rows in the source, none of which has a value in the column.',
            }),
            warning: Type.Boolean({ description: 'Whether this change gives the run the status WARNING.' }),
          },
          closed,
        ),
        { maxItems: 4000 },
      ),
    },
    closed,
  ),
)
export type PlannedTable = TypeOf<typeof PlannedTable>

/** The uploaded file that a run loads. */
export const RunFile = contract(
  'RunFile',
  Type.Object(
    {
      name: Line,
      /** Bytes. */
      size: Count,
      /** SHA-256 digest of the received bytes, in hexadecimal. */
      sha256: Type.String({ maxLength: 64 }),
      uploaded: Type.Optional({
        ...Timestamp,
        description: 'Absent for runs that an earlier version of Sluice started.',
      }),
    },
    closed,
  ),
)
export type RunFile = TypeOf<typeof RunFile>

export const Run = contract(
  'Run',
  Type.Object(
    {
      taskId: Uid,
      status: Type.Enum([...runStatuses]),
      trigger: Type.Enum(['MANUAL', 'SCHEDULE', 'WORKFLOW']),
      mode: Type.Enum(['FULL', 'INCREMENTAL'], {
        description: 'The requested mode. The log shows if it was not possible.',
      }),
      action: Type.Enum([...runActions], {
        description:
          'RUN. Data pipelines also have DRY_RUN, which publishes nothing, and RESTORE, which publishes the rows before the last publication.',
      }),
      scheduledFor: Type.Optional({ ...Timestamp, description: 'The scheduled time of the run.' }),
      attempt: Count,
      created: Timestamp,
      started: Type.Optional(Timestamp),
      finished: Type.Optional(Timestamp),
      duration: Type.Optional(Line),
      startedBy: Type.Optional(Line),
      file: Type.Optional({ ...RunFile, description: 'The uploaded file of the run.' }),
      progress: Progress,
      rowsWritten: Type.Optional(Count),
      bytesWritten: Type.Optional(Count),
      /** The outcome for users: what happened, where, why, and what to do. */
      message: Type.Optional(Text),
      errorCode: Type.Optional(Line),
      /** Present for a dry run that reached its plan. */
      plannedTables: Type.Optional(Type.Array(PlannedTable, { maxItems: 1000 })),
      /** Present for a run of a workflow. */
      jobs: Type.Optional(Type.Array(WorkflowRunJob, { maxItems: mostJobs })),
    },
    closed,
  ),
)
export type Run = TypeOf<typeof Run>

export const RunBody = contract(
  'RunBody',
  Type.Object(
    {
      mode: Type.Optional(
        Type.Enum(['FULL', 'INCREMENTAL'], {
          description:
            'FULL, the default, replaces all rows. INCREMENTAL continues after the last run if the source can return only changes.',
        }),
      ),
      rebuild: Type.Optional(
        Type.Boolean({
          description:
            'For a data pipeline: the table gets its columns and types from this load only. Such a run is FULL.',
        }),
      ),
      dryRun: Type.Optional(
        Type.Boolean({
          description:
            'For a data pipeline: reads and checks the source and compares it with the table, but publishes nothing. The result has `plannedTables`, rejected rows and check results. The start of another run cancels the dry run.',
        }),
      ),
    },
    closed,
  ),
)
export type RunBody = TypeOf<typeof RunBody>

export const CursorResetBody = contract(
  'CursorResetBody',
  Type.Object(
    {
      from: Type.Optional({
        ...Timestamp,
        description:
          'The next incremental run reads the changes since this time. Without it, the next run reads everything.',
      }),
    },
    closed,
  ),
)
export type CursorResetBody = TypeOf<typeof CursorResetBody>

export const LogEntry = contract(
  'LogEntry',
  Type.Object(
    {
      id: Line,
      created: Timestamp,
      lastUpdated: Timestamp,
      client: Line,
      dataPipeline: Line,
      taskId: Line,
      logLevel: Type.Enum([...logLevels]),
      logImportance: Type.Enum([...logImportances]),
      message: Text,
    },
    closed,
  ),
)
export type LogEntry = TypeOf<typeof LogEntry>

const pages = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
}

export const LogQuery = contract(
  'LogQuery',
  Type.Object(
    {
      taskId: Type.Optional(Uid),
      logLevel: Type.Optional(Type.Enum([...logLevels])),
      logImportance: Type.Optional(Type.Enum([...logImportances])),
      order: Type.Optional(Type.Enum(['ASC', 'DESC'])),
      ...pages,
    },
    closed,
  ),
)
export type LogQuery = TypeOf<typeof LogQuery>

export const LogStreamQuery = contract(
  'LogStreamQuery',
  Type.Object(
    {
      taskId: Type.Optional({ ...Uid, description: 'One run; the stream ends when the run ends.' }),
      logLevel: Type.Optional(Type.Enum([...logLevels])),
      logImportance: Type.Optional(Type.Enum([...logImportances])),
    },
    closed,
  ),
)
export type LogStreamQuery = TypeOf<typeof LogStreamQuery>

export const PageQuery = contract('PageQuery', Type.Object(pages, closed))
export type PageQuery = TypeOf<typeof PageQuery>

export const RejectedRow = contract(
  'RejectedRow',
  Type.Object(
    { line: Count, column: Type.Optional(Line), reason: Text, raw: Type.String({ maxLength: 8192 }) },
    closed,
  ),
)
export type RejectedRow = TypeOf<typeof RejectedRow>
