import type { DataPipeline, DataPipelineBody, PipelineType } from '@sluice/contracts'
import type { Transaction } from 'kysely'
import type { DB } from '../../../database.ts'
import type { GivenSecrets } from '../../merge-secrets.ts'
import type { SourceSecrets } from '@sluice/connectors/connector'

export type { GivenSecrets }

/** The pipeline types of this version. */
export type KnownType = DataPipelineBody['type']

/** The body of one type, without what all types share. */
export type BodyOf<Type extends PipelineType> = Extract<DataPipelineBody, { type: Type }>
export type ResourceOf<Type extends PipelineType> = Extract<DataPipeline, { type: Type }>

/** The fields of a body that describe the source. */
export type SourceOf<Type extends PipelineType> = Omit<BodyOf<Type>, keyof BodyOf<'PARQUET_UPLOAD'>>

/** Maps the body of one pipeline type to its row, and back. */
export interface PipelineKind<Type extends KnownType, Settings extends object> {
  /** The default name and the media type of an uploaded file. Absent for types that do not load uploads. */
  upload?: { name: string; mediaType: string }
  /** Throws 422 for an invalid address that the contract accepts. Absent for types that connect to no system. */
  checkConnection?(source: SourceOf<Type>): void
  /** Throws 422 for errors that the contract cannot express. */
  check(source: SourceOf<Type>): void
  /** Throws 422 for references to missing objects of this service, and locks existing ones until the transaction ends. */
  checkStored?(source: SourceOf<Type>, trx: Transaction<DB>): Promise<void>
  /** Returns the fields of the body to store, without secrets. */
  settings(source: SourceOf<Type>): Settings
  secrets(source: SourceOf<Type>): GivenSecrets
  /** Throws 422 for an invalid combination of secrets. Gets the given and the stored ones. */
  checkSecrets?(settings: Settings, secrets: SourceSecrets): void
  /**
   * The JSON pointer of the object with the secrets, and the address that they are given for. They are never sent to another one. Absent
   * for types without secrets.
   */
  meantFor?: { pointer: string; of(settings: Settings): unknown }
  /** The fields of the response that other types do not have. */
  fields(settings: Settings): Omit<ResourceOf<Type>, keyof ResourceOf<'PARQUET_UPLOAD'>>
  /** The display name of the source. For uploads, the name of the file is used. */
  sourceName(settings: Settings): string | undefined
}
