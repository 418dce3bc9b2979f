/**
 * The API's `type` for each connector, also stored in database rows. All other code uses these names instead of the
 * values. Error messages and the API reference list the types in this order.
 */
export const connectorTypes = {
  azureBlobStorage: 'CLOUD_BLOB_STORAGE',
  bhima: 'SOURCE_SYSTEM_A',
  commcare: 'SOURCE_SYSTEM_B',
  csvUpload: 'CSV_UPLOAD',
  dhis2: 'SOURCE_SYSTEM_C',
  functionCall: 'FUNCTION',
  fhir: 'FHIR',
  googleSheets: 'ONLINE_SPREADSHEET',
  ihris: 'SOURCE_SYSTEM_D',
  kobotoolbox: 'SOURCE_SYSTEM_E',
  communityHealthToolkit: 'SOURCE_SYSTEM_F',
  sqlServer: 'SQL_DATABASE_A',
  mysql: 'SQL_DATABASE_B',
  odkCentral: 'SOURCE_SYSTEM_G',
  openlmis: 'SOURCE_SYSTEM_H',
  oracle: 'SQL_DATABASE_C',
  parquetUpload: 'PARQUET_UPLOAD',
  postgres: 'SQL_DATABASE_D',
  publicDataset: 'PUBLIC_DATASET',
  redshift: 'WAREHOUSE_A',
  s3: 'OBJECT_STORAGE_BUCKET',
  sormas: 'SOURCE_SYSTEM_I',
} as const

/** The API's `providerSchema` for each kind of warehouse. All other code uses these names instead of the values. */
export const warehouseTypes = {
  redshift: connectorTypes.redshift,
  postgres: connectorTypes.postgres,
  clickhouse: 'WAREHOUSE_B',
  synapse: 'WAREHOUSE_C',
  sqlServer: connectorTypes.sqlServer,
  none: 'NA',
} as const

export type PipelineType = (typeof connectorTypes)[keyof typeof connectorTypes]
export const pipelineTypes: readonly PipelineType[] = Object.values(connectorTypes)

export const connectorNames: Readonly<Record<PipelineType, string>> = {
  [connectorTypes.azureBlobStorage]: 'Azure Blob Storage',
  [connectorTypes.bhima]: 'BHIMA',
  [connectorTypes.commcare]: 'CommCare',
  [connectorTypes.csvUpload]: 'CSV file',
  [connectorTypes.dhis2]: 'DHIS2',
  [connectorTypes.functionCall]: 'Function',
  [connectorTypes.fhir]: 'FHIR',
  [connectorTypes.googleSheets]: 'Google Sheets',
  [connectorTypes.ihris]: 'iHRIS',
  [connectorTypes.kobotoolbox]: 'KoboToolbox',
  [connectorTypes.communityHealthToolkit]: 'Community Health Toolkit',
  [connectorTypes.sqlServer]: 'Microsoft SQL Server',
  [connectorTypes.mysql]: 'MySQL and MariaDB',
  [connectorTypes.odkCentral]: 'ODK Central',
  [connectorTypes.openlmis]: 'OpenLMIS',
  [connectorTypes.oracle]: 'Oracle Database',
  [connectorTypes.parquetUpload]: 'Parquet file',
  [connectorTypes.postgres]: 'PostgreSQL',
  [connectorTypes.publicDataset]: 'Public dataset',
  [connectorTypes.redshift]: 'Amazon Redshift',
  [connectorTypes.s3]: 'Amazon S3',
  [connectorTypes.sormas]: 'SORMAS',
}

export const defaultPorts = {
  [connectorTypes.sqlServer]: 1433,
  [connectorTypes.mysql]: 3306,
  [connectorTypes.oracle]: 1521,
  [connectorTypes.postgres]: 5432,
  [connectorTypes.redshift]: 5439,
} as const
