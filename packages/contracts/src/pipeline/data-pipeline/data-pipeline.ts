import { discriminated, type TypeOf } from '../../contract.ts'
import { CsvUploadPipeline, CsvUploadPipelineBody, CsvUploadSourceBody } from './csv-upload.ts'
import { ParquetUploadPipeline, ParquetUploadPipelineBody, ParquetUploadSourceBody } from './parquet-upload.ts'
import { SqlDatabaseAPipeline, SqlDatabaseAPipelineBody, SqlDatabaseASourceBody } from './sql-database-a.ts'
import { SqlDatabaseBPipeline, SqlDatabaseBPipelineBody, SqlDatabaseBSourceBody } from './sql-database-b.ts'
import { SqlDatabaseCPipeline, SqlDatabaseCPipelineBody, SqlDatabaseCSourceBody } from './sql-database-c.ts'
import { SqlDatabaseDPipeline, SqlDatabaseDPipelineBody, SqlDatabaseDSourceBody } from './sql-database-d.ts'

/** A pipeline of any type that this version has, as it is sent. */
export const DataPipelineBody = discriminated('DataPipelineBody', [
  CsvUploadPipelineBody,
  ParquetUploadPipelineBody,
  SqlDatabaseAPipelineBody,
  SqlDatabaseBPipelineBody,
  SqlDatabaseCPipelineBody,
  SqlDatabaseDPipelineBody,
])
export type DataPipelineBody = TypeOf<typeof DataPipelineBody>

/** The same as it is answered. */
export const DataPipeline = discriminated('DataPipeline', [
  CsvUploadPipeline,
  ParquetUploadPipeline,
  SqlDatabaseAPipeline,
  SqlDatabaseBPipeline,
  SqlDatabaseCPipeline,
  SqlDatabaseDPipeline,
])
export type DataPipeline = TypeOf<typeof DataPipeline>

/** A pipeline's source, to be looked at before the pipeline is saved. */
export const SourceBody = discriminated('SourceBody', [
  CsvUploadSourceBody,
  ParquetUploadSourceBody,
  SqlDatabaseASourceBody,
  SqlDatabaseBSourceBody,
  SqlDatabaseCSourceBody,
  SqlDatabaseDSourceBody,
])
export type SourceBody = TypeOf<typeof SourceBody>
