import { type TypeOf, discriminated } from '../../contract.ts'
import { sqlServer, mysql, oracle, postgres, redshift } from './sources/databases.ts'
import { dhis2 } from './sources/dhis2.ts'
import { fhir } from './sources/fhir.ts'
import { functionCall } from './sources/function.ts'
import { bhima, ihris, openlmis, sormas } from './sources/health-systems.ts'
import { azureBlobStorage, s3 } from './sources/object-stores.ts'
import { publicDataset } from './sources/public-dataset.ts'
import { googleSheets } from './sources/spreadsheet.ts'
import { commcare, kobotoolbox, communityHealthToolkit, odkCentral } from './sources/surveys.ts'
import { csvUpload, parquetUpload } from './sources/uploads.ts'
import { type ContractCheckResult, checker } from '../../validate.ts'
import type { PipelineType } from './connector-types.ts'

/** Every type of pipeline, in the order of `pipelineTypes`. */
export const pipelineVariants = [
  azureBlobStorage,
  bhima,
  commcare,
  csvUpload,
  dhis2,
  functionCall,
  fhir,
  googleSheets,
  ihris,
  kobotoolbox,
  communityHealthToolkit,
  sqlServer,
  mysql,
  odkCentral,
  openlmis,
  oracle,
  parquetUpload,
  postgres,
  publicDataset,
  redshift,
  s3,
  sormas,
] as const

type Variant = (typeof pipelineVariants)[number]

/** A pipeline of any type, as clients send it; the type is optional. `checkPipelineBody` checks a body without a type. */
export const DataPipelineBody = discriminated(
  'DataPipelineBody',
  pipelineVariants.map(({ sent }) => sent),
)
export type SentDataPipelineBody = TypeOf<Variant['sent']>
/** A pipeline body with a known type. */
export type DataPipelineBody = TypeOf<Variant['body']>

export const DataPipeline = discriminated(
  'DataPipeline',
  pipelineVariants.map(({ resource }) => resource),
)
export type DataPipeline = TypeOf<Variant['resource']>

/** A pipeline's source, for a preview before the pipeline is saved. */
export const SourceBody = discriminated(
  'SourceBody',
  pipelineVariants.map(({ source }) => source),
)
export type SourceBody = TypeOf<Variant['source']>

const checkers = new Map<string, (body: unknown) => ContractCheckResult<DataPipelineBody>>(
  pipelineVariants.map(({ type, body }) => [type, checker<DataPipelineBody>(body as object)]),
)

/** Checks a body against the contract of `type`; the field `type` of the body is ignored. */
export function checkPipelineBody(type: string, body: object): ContractCheckResult<DataPipelineBody> {
  const check = checkers.get(type)
  if (!check) throw new Error(`Unknown pipeline type ${type}.`)
  return check({ ...body, type })
}

/**
 * Returns the pipeline types whose contract fits a body without a type: they allow all fields of the body and require no others.
 * If the field names fit several types, the values decide.
 */
export function pipelineTypesOf(body: object): PipelineType[] {
  const given = Object.entries(body).flatMap(([name, value]) => (value === null || name === 'type' ? [] : [name]))
  const byName = pipelineVariants.filter(({ body: { properties, required } }) => {
    const needed = (required as string[]).filter((name) => name !== 'type')
    return given.every((name) => Object.hasOwn(properties, name)) && needed.every((name) => given.includes(name))
  })
  const types = byName.map(({ type }) => type)
  if (types.length < 2) return types
  const byValue = types.filter((type) => 'value' in checkPipelineBody(type, body))
  return byValue.length > 0 ? byValue : types
}
