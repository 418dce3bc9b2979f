import type { DataPipeline, DataPipelineBody } from '@sluice/contracts'
import type { SourceSecrets } from '../connector.ts'

/** The pipeline types of this version. */
export type KnownType = DataPipelineBody['type']

/** The fields of a body that describe the source. A Parquet upload has only the fields that all types share. */
export type SourceOf<Type extends KnownType> = Omit<
  Extract<DataPipelineBody, { type: Type }>,
  keyof Extract<DataPipelineBody, { type: 'PARQUET_UPLOAD' }>
>

/** The fields of a response that describe the source. */
export type SourceFieldsOf<Type extends KnownType> = Omit<
  Extract<DataPipeline, { type: Type }>,
  keyof Extract<DataPipeline, { type: 'PARQUET_UPLOAD' }>
>

/** Secrets of a request body, by name: undefined keeps the stored one, null clears it. */
export type GivenSecrets = Readonly<Record<string, string | null | undefined>>

/** Looks up the objects of Sluice that settings refer to. */
export interface ReferencedObjects {
  /** Also locks the dataset until the transaction ends, so that it cannot be deleted before this pipeline is saved. */
  hasPublicDataset(key: string): Promise<boolean>
}

/**
 * The part of a connector that the API needs to save a pipeline. Its module imports no driver, because the API loads the
 * definitions of all connectors.
 */
export interface ConnectorDefinition<Type extends KnownType, Settings extends object> {
  /** The default name and the media type of an uploaded file. Absent for types that do not load uploads. */
  upload?: { name: string; mediaType: string }
  /** Throws `InvalidSetting` for an invalid address that the contract accepts. Absent for types that connect to no system. */
  assertConnection?(source: SourceOf<Type>): void
  /** Throws `InvalidSetting` for errors that the contract cannot express. */
  assertSettings?(source: SourceOf<Type>): void
  /** Throws `InvalidSetting` for references to missing objects. */
  assertReferences?(source: SourceOf<Type>, objects: ReferencedObjects): Promise<void>
  /** Returns the fields of the body to store, without secrets. */
  getSettings(source: SourceOf<Type>): Settings
  getSecrets?(source: SourceOf<Type>): GivenSecrets
  /** Throws `InvalidSetting` for an invalid combination of secrets. Gets the given and the stored ones. */
  assertSecrets?(settings: Settings, secrets: SourceSecrets): void
  /**
   * Identifies the recipient of the secrets, which are sent to no other. `pointer` is the JSON pointer of the object that
   * contains them. Absent for types without secrets.
   */
  secretAudience?: { pointer: string; of(settings: Settings): unknown }
  /** Returns the fields of the response. */
  getResponseFields(settings: Settings): SourceFieldsOf<Type>
  /** Returns the display name of the source. Absent for uploads, which are named like their file. */
  formatSourceName?(settings: Settings): string
}

/** A setting breaks a rule that the contract cannot express. `pointer` is a JSON pointer into the request body. */
export class InvalidSetting extends Error {
  override readonly name = 'InvalidSetting'
  readonly pointer: string

  constructor(pointer: string, detail: string) {
    super(detail)
    this.pointer = pointer
  }
}
