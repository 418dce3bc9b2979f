import type { DataPipelineBody, SourceBody } from '@sluice/contracts'
import { csvUpload } from './csv-upload.ts'
import { parquetUpload } from './parquet-upload.ts'
import type { KnownType, PipelineKind } from './pipeline-type.ts'
import { sqlDatabaseA } from './sql-database-a.ts'
import { sqlDatabaseB } from './sql-database-b.ts'
import { sqlDatabaseC } from './sql-database-c.ts'
import { sqlDatabaseD } from './sql-database-d.ts'

/** Each type of pipeline that this version has; the compiler misses none that has a contract. */
const kinds: { readonly [Type in KnownType]: PipelineKind<Type, any> } = {
  CSV_UPLOAD: csvUpload,
  PARQUET_UPLOAD: parquetUpload,
  SQL_DATABASE_A: sqlDatabaseA,
  SQL_DATABASE_B: sqlDatabaseB,
  SQL_DATABASE_C: sqlDatabaseC,
  SQL_DATABASE_D: sqlDatabaseD,
}

type AnyBody = DataPipelineBody | SourceBody

/** A kind as whoever knows no type in particular may use it. */
export type AnyKind = Omit<
  PipelineKind<KnownType, any>,
  'checkConnection' | 'check' | 'settings' | 'secrets' | 'fields'
> & {
  checkConnection?(body: AnyBody): void
  check(body: AnyBody): void
  settings(body: AnyBody): object
  secrets(body: AnyBody): Record<string, string | null | undefined>
  fields(settings: unknown): object
}

export type { KnownType }

/** Undefined for a type that this version has not. */
export function findKind(type: string): AnyKind | undefined {
  return Object.hasOwn(kinds, type) ? (kinds[type as KnownType] as unknown as AnyKind) : undefined
}

/** Throws for a type that only a later version has. */
export function kindOf(type: string): AnyKind {
  const kind = findKind(type)
  if (!kind) throw new Error(`This version has no data pipelines of type ${type}.`)
  return kind
}
