import { discriminated, type TypeOf } from '../../contract.ts'
import { CsvUploadPipeline, CsvUploadPipelineBody } from './csv-upload.ts'
import { ParquetUploadPipeline, ParquetUploadPipelineBody } from './parquet-upload.ts'
import { SqlDatabaseAPipeline, SqlDatabaseAPipelineBody } from './sql-database-a.ts'
import { SqlDatabaseBPipeline, SqlDatabaseBPipelineBody } from './sql-database-b.ts'
import { SqlDatabaseCPipeline, SqlDatabaseCPipelineBody } from './sql-database-c.ts'
import { SqlDatabaseDPipeline, SqlDatabaseDPipelineBody } from './sql-database-d.ts'

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
