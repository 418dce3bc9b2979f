import type { DataPipelineBody, SourceBody } from '@sluice/contracts'
import type { Transaction } from 'kysely'
import { problems } from '@sluice/http-server'
import type { DB } from '../../../database.ts'
import type { SourceSecrets } from '@sluice/connectors/connector'
import { csvUpload, parquetUpload } from './uploads.ts'
import { sqlDatabaseA, sqlDatabaseB, sqlDatabaseC, sqlDatabaseD, warehouseA } from './databases.ts'
import { cloudBlobStorage, objectStorageBucket } from './object-stores.ts'
import type { GivenSecrets, KnownType, PipelineKind } from './pipeline-type.ts'
import { fhir, functionCall, onlineSpreadsheet } from './web-apis.ts'
import {
  sourceSystemA,
  sourceSystemB,
  sourceSystemC,
  sourceSystemD,
  sourceSystemE,
  sourceSystemF,
  sourceSystemG,
  sourceSystemH,
  sourceSystemI,
} from './systems.ts'

/** A public dataset, which every organisation may load. Its key is checked when the pipeline is written. */
const publicDataset: PipelineKind<'PUBLIC_DATASET', { key: string }> = {
  checkConnection: () => {},
  check: () => {},
  async checkStored({ key }, trx) {
    // The lock makes a deletion of the dataset wait for this transaction, so that it finds this pipeline.
    const found = await trx
      .selectFrom('public_datasets')
      .select('id')
      .where('key', '=', key)
      .forKeyShare()
      .executeTakeFirst()
    if (!found) throw problems.refused('/key', `The public dataset "${key}" does not exist.`)
  },
  settings: ({ key }) => ({ key }),
  secrets: () => ({}),
  fields: ({ key }) => ({ key }),
  sourceName: ({ key }) => key,
}

/** The kind of each pipeline type. The compiler requires one for every contract. */
const kinds: { readonly [Type in KnownType]: PipelineKind<Type, any> } = {
  CLOUD_BLOB_STORAGE: cloudBlobStorage,
  SOURCE_SYSTEM_A: sourceSystemA,
  SOURCE_SYSTEM_B: sourceSystemB,
  CSV_UPLOAD: csvUpload,
  SOURCE_SYSTEM_C: sourceSystemC,
  FUNCTION: functionCall,
  FHIR: fhir,
  ONLINE_SPREADSHEET: onlineSpreadsheet,
  SOURCE_SYSTEM_D: sourceSystemD,
  SOURCE_SYSTEM_E: sourceSystemE,
  SOURCE_SYSTEM_F: sourceSystemF,
  SQL_DATABASE_A: sqlDatabaseA,
  SQL_DATABASE_B: sqlDatabaseB,
  SOURCE_SYSTEM_G: sourceSystemG,
  SOURCE_SYSTEM_H: sourceSystemH,
  SQL_DATABASE_C: sqlDatabaseC,
  PARQUET_UPLOAD: parquetUpload,
  SQL_DATABASE_D: sqlDatabaseD,
  PUBLIC_DATASET: publicDataset,
  WAREHOUSE_A: warehouseA,
  OBJECT_STORAGE_BUCKET: objectStorageBucket,
  SOURCE_SYSTEM_I: sourceSystemI,
}

type AnyBody = DataPipelineBody | SourceBody

/** A kind for code that does not depend on the type. */
export type AnyKind = Omit<
  PipelineKind<KnownType, any>,
  'checkConnection' | 'check' | 'checkStored' | 'settings' | 'secrets' | 'checkSecrets' | 'meantFor' | 'fields'
> & {
  checkConnection?(body: AnyBody): void
  check(body: AnyBody): void
  checkStored?(body: AnyBody, trx: Transaction<DB>): Promise<void>
  settings(body: AnyBody): object
  secrets(body: AnyBody): GivenSecrets
  checkSecrets?(settings: object, secrets: SourceSecrets): void
  meantFor?: { pointer: string; of(settings: object): unknown }
  fields(settings: unknown): object
}

export type { KnownType }

/** Returns the kind; undefined for a type that only a later version has. */
export function findKind(type: string): AnyKind | undefined {
  return Object.hasOwn(kinds, type) ? (kinds[type as KnownType] as unknown as AnyKind) : undefined
}

/** Returns the kind. Throws for a type that only a later version has. */
export function kindOf(type: string): AnyKind {
  const kind = findKind(type)
  if (!kind) throw new Error(`This version has no data pipelines of type ${type}.`)
  return kind
}
