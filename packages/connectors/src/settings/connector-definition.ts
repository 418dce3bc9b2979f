import type { DataPipeline, DataPipelineBody } from '@sluice/contracts'
import type { SourceSecrets } from '../connector.ts'

/** The pipeline types that this version knows. */
export type KnownType = DataPipelineBody['type']

/**
 * The fields of a pipeline's request body that describe the source. For an uploaded Parquet file, only the fields that
 * all types share.
 */
export type SourceOf<Type extends KnownType> = Omit<
  Extract<DataPipelineBody, { type: Type }>,
  keyof Extract<DataPipelineBody, { type: 'PARQUET_UPLOAD' }>
>

/** The fields of a pipeline in an API response that describe the source. */
export type SourceFieldsOf<Type extends KnownType> = Omit<
  Extract<DataPipeline, { type: Type }>,
  keyof Extract<DataPipeline, { type: 'PARQUET_UPLOAD' }>
>

/**
 * The secrets in a request body, by name. A text replaces the stored secret, undefined keeps it, and null deletes it.
 */
export type SentSecrets = Readonly<Record<string, string | null | undefined>>

/** Finds Sluice objects, such as public datasets, to which a pipeline's settings refer. */
export interface ReferencedObjects {
  /**
   * Finds a public dataset and locks it until the transaction ends, so that it cannot be deleted before the pipeline is
   * saved.
   */
  hasPublicDataset(key: string): Promise<boolean>
}

/**
 * The part of a connector that the API needs in order to save a pipeline. Its module imports no driver, because the API
 * loads the definitions of all connectors.
 */
export interface ConnectorDefinition<Type extends KnownType, Settings extends object> {
  /** The default file name and the media type of an upload. Absent for types without uploads. */
  upload?: { name: string; mediaType: string }
  /**
   * Throws `InvalidSetting` for an invalid address that the contract's schema accepts. Absent for types without a
   * connection.
   */
  assertConnection?(source: SourceOf<Type>): void
  /**
   * Validates the connection for listing options or a test, which may need fewer fields than a saved pipeline. Default:
   * `assertConnection`.
   */
  assertLookup?(source: SourceOf<Type>, kind: string): void
  /** Throws `InvalidSetting` for invalid settings that the contract's schema accepts. */
  assertSettings?(source: SourceOf<Type>): void
  /** Throws `InvalidSetting` for a reference to an object that does not exist. */
  assertReferences?(source: SourceOf<Type>, objects: ReferencedObjects): Promise<void>
  /** Returns the fields of the request body to store, without the secrets. */
  getSettings(source: SourceOf<Type>): Settings
  getSecrets?(source: SourceOf<Type>): SentSecrets
  /**
   * The object in the request body that contains the secrets, and the names of the secrets. Absent for types without
   * secrets.
   */
  secretFields?: { object: string; names: readonly string[] }
  /** Throws `InvalidSetting` for an invalid combination of secrets. `secrets` contains both stored and new secrets. */
  assertSecrets?(settings: Settings, secrets: SourceSecrets): void
  /**
   * `getValue` returns a value that identifies the recipient of the secrets. If it changes, the user must enter the
   * secrets again. `pointer` is the JSON pointer of the object that contains them. Absent for types without secrets.
   */
  secretAudience?: { pointer: string; getValue(settings: Settings): unknown }
  /** Returns the source's fields of the pipeline in an API response, from the stored settings. */
  getResponseFields(settings: Settings): SourceFieldsOf<Type>
  /** Returns the display name of the source. Absent for uploads, which are named by their file. */
  formatSourceName?(settings: Settings): string
}

/**
 * A setting breaks a rule that the contract's schema cannot express. `pointer` is the setting's JSON pointer in the
 * request body.
 */
export class InvalidSetting extends Error {
  override readonly name = 'InvalidSetting'
  readonly pointer: string

  constructor(pointer: string, detail: string) {
    super(detail)
    this.pointer = pointer
  }
}
