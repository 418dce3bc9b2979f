import type { PipelineType } from './base.ts'

/** Display name of the system of each pipeline type. No other place defines these names. */
export const systems: Readonly<Record<PipelineType, string>> = {
  CLOUD_BLOB_STORAGE: 'Azure Blob Storage',
  SOURCE_SYSTEM_A: 'BHIMA',
  SOURCE_SYSTEM_B: 'CommCare',
  CSV_UPLOAD: 'CSV file',
  SOURCE_SYSTEM_C: 'DHIS2',
  FUNCTION: 'Function',
  FHIR: 'FHIR',
  ONLINE_SPREADSHEET: 'Google Sheets',
  SOURCE_SYSTEM_D: 'iHRIS',
  SOURCE_SYSTEM_E: 'KoboToolbox',
  SOURCE_SYSTEM_F: 'Community Health Toolkit',
  SQL_DATABASE_A: 'Microsoft SQL Server',
  SQL_DATABASE_B: 'MySQL and MariaDB',
  SOURCE_SYSTEM_G: 'ODK Central',
  SOURCE_SYSTEM_H: 'OpenLMIS',
  SQL_DATABASE_C: 'Oracle Database',
  PARQUET_UPLOAD: 'Parquet file',
  SQL_DATABASE_D: 'PostgreSQL',
  PUBLIC_DATASET: 'Public dataset',
  WAREHOUSE_A: 'Amazon Redshift',
  OBJECT_STORAGE_BUCKET: 'Amazon S3',
  SOURCE_SYSTEM_I: 'SORMAS',
}

/** Default port of each database. */
export const defaultPorts = {
  SQL_DATABASE_A: 1433,
  SQL_DATABASE_B: 3306,
  SQL_DATABASE_C: 1521,
  SQL_DATABASE_D: 5432,
  WAREHOUSE_A: 5439,
} as const
