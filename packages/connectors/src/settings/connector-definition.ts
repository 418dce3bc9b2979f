import type { DataPipeline, DataPipelineBody } from '@sluice/contracts'
import type { SourceSecrets } from '../connector.ts'

/** The pipeline types of this version. */
export type KnownType = DataPipelineBody['type']

/** The fields of a request body that describe the source. An uploaded Parquet file has only the fields that all types share. */
export type SourceOf<Type extends KnownType> = Omit<
  Extract<DataPipelineBody, { type: Type }>,
  keyof Extract<DataPipelineBody, { type: 'PARQUET_UPLOAD' }>
>

/** The fields of a response body that describe the source. */
export type SourceFieldsOf<Type extends KnownType> = Omit<
  Extract<DataPipeline, { type: Type }>,
  keyof Extract<DataPipeline, { type: 'PARQUET_UPLOAD' }>
>

/** The secrets of a request body by name. Undefined keeps the stored secret, null deletes it. */
export type GivenSecrets = Readonly<Record<string, string | null | undefined>>

/** Finds objects of Sluice to which settings refer. */
export interface ReferencedObjects {
  /** Finds a dataset and locks it until the transaction ends, so that it cannot be deleted before the pipeline is saved. */
  hasPublicDataset(key: string): Promise<boolean>
}

/**
 * The part of a connector that the API needs to save a pipeline. Its module imports no driver, because the API loads the
 * definitions of all connectors.
 */
export interface ConnectorDefinition<Type extends KnownType, Settings extends object> {
  /** The default file name and the media type of an uploaded file. Absent for types without uploads. */
  upload?: { name: string; mediaType: string }
  /** Throws `InvalidSetting` for an address that the API contract accepts although it is invalid. Absent for types without a connection. */
  assertConnection?(source: SourceOf<Type>): void
  /** Validates the connection of a look-up, which may need less than a pipeline. Default: `assertConnection`. */
  assertLookup?(source: SourceOf<Type>, kind: string): void
  /** Throws `InvalidSetting` for errors that the API contract cannot express. */
  assertSettings?(source: SourceOf<Type>): void
  /** Throws `InvalidSetting` for a reference to an object that does not exist. */
  assertReferences?(source: SourceOf<Type>, objects: ReferencedObjects): Promise<void>
  /** Returns the fields of the request body to store, without secrets. */
  getSettings(source: SourceOf<Type>): Settings
  getSecrets?(source: SourceOf<Type>): GivenSecrets
  /** The object of a body that contains the secrets, and their names. Absent for types without secrets. */
  secretFields?: { object: string; names: readonly string[] }
  /** Throws `InvalidSetting` for an invalid combination of secrets. `secrets` contains both the stored and the new ones. */
  assertSecrets?(settings: Settings, secrets: SourceSecrets): void
  /**
   * Returns what identifies the recipient of the secrets. If it changes, the stored secrets are not used any more. `pointer` is
   * the JSON pointer of the object that contains them. Absent for types without secrets.
   */
  secretAudience?: { pointer: string; of(settings: Settings): unknown }
  /** Returns the fields of the response body. */
  getResponseFields(settings: Settings): SourceFieldsOf<Type>
  /** Returns the display name of the source. Absent for uploads, which have the name of their file. */
  formatSourceName?(settings: Settings): string
}

/** A setting breaks a rule that the API contract cannot express. `pointer` is its JSON pointer in the request body. */
export class InvalidSetting extends Error {
  override readonly name = 'InvalidSetting'
  readonly pointer: string

  constructor(pointer: string, detail: string) {
    super(detail)
    this.pointer = pointer
  }
}
