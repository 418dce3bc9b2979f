import { type TypeOf, discriminatedUnion } from '../../contract.ts'
import { sqlServer, mysqlVariant, oracleVariant, postgresVariant, redshiftVariant } from './sources/databases.ts'
import { dhis2 } from './sources/dhis2.ts'
import { fhirVariant } from './sources/fhir.ts'
import { functionCall } from './sources/function.ts'
import { bhimaVariant, ihrisVariant, openlmisVariant, sormasVariant } from './sources/health-systems.ts'
import { azureBlobStorage, s3 } from './sources/object-stores.ts'
import { publicDataset } from './sources/public-dataset.ts'
import { googleSheets } from './sources/spreadsheet.ts'
import { commcareVariant, kobotoolboxVariant, communityHealthToolkit, odkCentral } from './sources/survey-systems.ts'
import { csvUpload, parquetUpload } from './sources/uploads.ts'
import { type ContractCheckResult, createContractChecker } from '../../validate.ts'
import type { PipelineType } from './connector-types.ts'

/** All types of pipelines, in the order of `pipelineTypes`. */
export const pipelineVariants = [
  azureBlobStorage,
  bhimaVariant,
  commcareVariant,
  csvUpload,
  dhis2,
  functionCall,
  fhirVariant,
  googleSheets,
  ihrisVariant,
  kobotoolboxVariant,
  communityHealthToolkit,
  sqlServer,
  mysqlVariant,
  odkCentral,
  openlmisVariant,
  oracleVariant,
  parquetUpload,
  postgresVariant,
  publicDataset,
  redshiftVariant,
  s3,
  sormasVariant,
] as const

type PipelineVariant = (typeof pipelineVariants)[number]

/** A pipeline of any type in a request. `type` is optional; `checkPipelineBody` checks a body without it. */
export const DataPipelineBody = discriminatedUnion(
  'DataPipelineBody',
  pipelineVariants.map(({ sent }) => sent),
)

export type SentDataPipelineBody = TypeOf<PipelineVariant['sent']>
/** A pipeline body with a known type. */
export type DataPipelineBody = TypeOf<PipelineVariant['body']>

export const DataPipeline = discriminatedUnion(
  'DataPipeline',
  pipelineVariants.map(({ resource }) => resource),
)

export type DataPipeline = TypeOf<PipelineVariant['resource']>

/** The source of a pipeline, for a preview before the pipeline is saved. */
export const SourceBody = discriminatedUnion(
  'SourceBody',
  pipelineVariants.map(({ source }) => source),
)

export type SourceBody = TypeOf<PipelineVariant['source']>

const bodyCheckers = new Map<string, (body: unknown) => ContractCheckResult<DataPipelineBody>>(
  pipelineVariants.map(({ type, body }) => [type, createContractChecker<DataPipelineBody>(body as object)]),
)

/** Checks a body against the contract of `type`. Ignores the field `type` of the body. */
export function checkPipelineBody(type: string, body: object): ContractCheckResult<DataPipelineBody> {
  const check = bodyCheckers.get(type)
  if (!check) throw new Error(`Unknown pipeline type ${type}.`)
  return check({ ...body, type })
}

/**
 * Returns the pipeline types that fit a body without `type`: types that allow all fields of the body and require no
 * others. If the field names fit several types, the values decide.
 */
export function inferPipelineTypes(body: object): PipelineType[] {
  const sentFields = Object.keys(body).filter((name) => name !== 'type' && body[name as keyof object] !== null)
  const fitsFieldNames = ({ body: { properties, required } }: PipelineVariant) => {
    const requiredFields = (required as string[]).filter((name) => name !== 'type')
    const allowsSentFields = sentFields.every((name) => Object.hasOwn(properties, name))
    return allowsSentFields && requiredFields.every((name) => sentFields.includes(name))
  }
  const typesByName = pipelineVariants.filter(fitsFieldNames).map(({ type }) => type)
  if (typesByName.length < 2) return typesByName
  const hasValidValues = (type: PipelineType) => 'value' in checkPipelineBody(type, body)
  const typesByValue = typesByName.filter(hasValidValues)
  return typesByValue.length > 0 ? typesByValue : typesByName
}
