import type { DataPipeline, DataPipelineBody, PipelineType } from '@sluice/contracts'
import type { Transaction } from 'kysely'
import type { DB } from '../../../database.ts'
import type { GivenSecrets } from '../../merge-secrets.ts'
import type { SourceSecrets } from '../../../sealed-secrets.ts'

export type { GivenSecrets }

/** The types of pipelines that this version has. */
export type KnownType = DataPipelineBody['type']

/** The body of one type, without what all types share. */
export type BodyOf<Type extends PipelineType> = Extract<DataPipelineBody, { type: Type }>
export type ResourceOf<Type extends PipelineType> = Extract<DataPipeline, { type: Type }>

/** Fields of a body that say what the source is: everything but who the pipeline is, where it loads to and when. */
export type SourceOf<Type extends PipelineType> = Omit<BodyOf<Type>, keyof BodyOf<'PARQUET_UPLOAD'>>

/** What is particular about one type of pipeline: between its contract and its row. */
export interface PipelineKind<Type extends KnownType, Settings extends object> {
  /** Loads a file that people upload; what that is called when they do not say, and its media type. */
  upload?: { name: string; mediaType: string }
  /** Refuses an address that the contract takes. Absent where there is nothing to connect to. */
  checkConnection?(source: SourceOf<Type>): void
  /** Refuses what the contract cannot say. */
  check(source: SourceOf<Type>): void
  /** Refuses what names something of this service that is not there, and keeps it there until the transaction ends. */
  checkStored?(source: SourceOf<Type>, trx: Transaction<DB>): Promise<void>
  /** What is kept of the body, without secrets. */
  settings(source: SourceOf<Type>): Settings
  secrets(source: SourceOf<Type>): GivenSecrets
  /** Refuses secrets that do not go together, once those that are kept have joined those that were given. */
  checkSecrets?(settings: Settings, secrets: SourceSecrets): void
  /**
   * The object of a body that has the secrets, and what those are meant for: given for one thing, they are not sent to another. Absent where
   * there are none.
   */
  meantFor?: { pointer: string; of(settings: Settings): unknown }
  /** The fields of the response that other types do not have. */
  fields(settings: Settings): Omit<ResourceOf<Type>, keyof ResourceOf<'PARQUET_UPLOAD'>>
  /** What people call the source; a file is called by its own name. */
  sourceName(settings: Settings): string | undefined
}
