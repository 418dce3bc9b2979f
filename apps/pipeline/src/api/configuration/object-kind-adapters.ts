import type { ConfigurationKind, ConfiguredObject } from '@sluice/contracts'
import { getDefinition } from '@sluice/connectors/registry/connector-definitions'
import { type KeyRing, SealProblem } from '@sluice/database'
import { unsealTargetSecrets } from '../../destinations/push-target.ts'
import { unsealSource, unsealVariableValue } from '../../secrets/encrypted-secrets.ts'
import type { DataPipelineRow } from '../data-pipelines/records.ts'
import { dataPipelineBulkSave } from '../data-pipelines/write.ts'
import { groupBulkSave } from '../data-quality-check-groups/write.ts'
import { checkBulkSave } from '../data-quality-checks/write.ts'
import type { DestinationRow } from '../destinations/records.ts'
import { destinationBulkSave } from '../destinations/write.ts'
import type { BulkSaveDefinition } from '../bulk-saves/save-by-name.ts'
import { schemaBulkSave } from '../schemas/write.ts'
import type { VariableRow } from '../variables/records.ts'
import { variableBulkSave } from '../variables/write.ts'
import { viewBulkSave } from '../views/write.ts'
import { workflowBulkSave } from '../workflows/write.ts'

/** Returns the id of the object that a reference names. `pointer` is the JSON pointer of the reference. */
export type FindId = (kind: ConfigurationKind, name: string, pointer: string) => string

/**
 * Decrypted secrets by JSON pointer. If the address of a source has variables, each value also contains the
 * address for which the secret was entered, so that the secret is not sent to another one.
 */
export type SecretsByPointer = Readonly<Record<string, string>>

/** The functions with which a configuration reads and saves a kind of object. */
export interface KindAdapter {
  bulkSave: BulkSaveDefinition<any, any>
  /** Returns the request body of an object in the document, without its access rights. */
  toBody(object: any, findId: FindId): object
  readSecrets(row: any, ring: KeyRing): SecretsByPointer
  /** The column with the encrypted secrets. */
  encryptedColumn?: string
}

const noSecrets = () => ({})
const unchanged = (object: object) => object

export const kindAdapters: Readonly<Record<ConfigurationKind, KindAdapter>> = {
  schemas: { bulkSave: schemaBulkSave, toBody: unchanged, readSecrets: noSecrets },

  variables: {
    bulkSave: variableBulkSave,
    toBody: ({ redacted, ...body }: ConfiguredObject) => ({ ...body, mayLackValue: redacted?.includes('/value') }),
    encryptedColumn: 'sealed_value',
    readSecrets: (row: VariableRow, ring): SecretsByPointer =>
      row.secured && row.sealed_value !== null ? { '/value': unsealVariableValue(row, ring) } : {},
  },

  dataQualityChecks: { bulkSave: checkBulkSave, toBody: unchanged, readSecrets: noSecrets },

  dataQualityCheckGroups: {
    bulkSave: groupBulkSave,
    toBody: ({ dataQualityChecks, ...body }: { dataQualityChecks?: { name: string }[] }, findId) => ({
      ...body,
      dataQualityChecks: dataQualityChecks?.map(({ name }, index) => ({
        id: findId('dataQualityChecks', name, `/dataQualityChecks/${index}/name`),
      })),
    }),
    readSecrets: noSecrets,
  },

  dataPipelines: {
    bulkSave: dataPipelineBulkSave,
    toBody: ({ dataWarehouseTarget: target, dataQualityCheckGroup: group, ...body }: any, findId) => ({
      ...body,
      dataWarehouseTarget: {
        ...target,
        schema: { id: findId('schemas', target.schema.name, '/dataWarehouseTarget/schema/name') },
      },
      ...(group && {
        dataQualityCheckGroup: {
          id: findId('dataQualityCheckGroups', group.name, '/dataQualityCheckGroup/name'),
        },
      }),
    }),
    encryptedColumn: 'source_secrets',
    readSecrets: (row: DataPipelineRow, ring) => {
      const { secrets, secretAddress } = unsealSource(row, ring)
      const { pointer } = getDefinition(row.type).secretAudience ?? {}
      const entries = Object.entries(secrets).map(([name, value]) => [
        `${pointer}/${name}`,
        secretAddress ? JSON.stringify([value, secretAddress]) : value,
      ])
      return Object.fromEntries(entries) as SecretsByPointer
    },
  },

  views: {
    bulkSave: viewBulkSave,
    toBody: ({ schema, ...body }: any, findId) => ({
      ...body,
      schema: { id: findId('schemas', schema.name, '/schema/name') },
    }),
    readSecrets: noSecrets,
  },

  destinations: {
    bulkSave: destinationBulkSave,
    toBody: ({ viewSource, ...body }: any, findId) => ({
      ...body,
      viewSource: { id: findId('views', viewSource.name, '/viewSource/name') },
    }),
    encryptedColumn: 'target_secrets',
    readSecrets: (row: DestinationRow, ring) => {
      const [field] = Object.keys(row.settings)
      const secrets = Object.entries(unsealTargetSecrets(row, ring))
      return Object.fromEntries(secrets.map(([name, value]) => [`/${field}/${name}`, value]))
    },
  },

  workflows: {
    bulkSave: workflowBulkSave,
    toBody: ({ steps: { steps, ...strategy }, ...body }: any, findId) => ({
      ...body,
      steps: {
        ...strategy,
        steps: steps?.map(({ jobs, ...step }: any, stepIndex: number) => ({
          ...step,
          jobs: jobs?.map(({ jobType, object }: ConfiguredJob, index: number) => {
            const pointer = `/steps/steps/${stepIndex}/jobs/${index}/object/name`
            return { jobType, object: { uid: findId(kindOfJob[jobType], object.name, pointer) } }
          }),
        })),
      },
    }),
    readSecrets: noSecrets,
  },
}

const kindOfJob = {
  DATA_PIPELINE_LOAD: 'dataPipelines',
  VIEW_REFRESH: 'views',
  DATA_QUALITY_CHECK_GROUP_RUN: 'dataQualityCheckGroups',
  DESTINATION_PUSH: 'destinations',
} as const

interface ConfiguredJob {
  jobType: keyof typeof kindOfJob
  object: { name: string }
}

/**
 * Returns the secrets of a row. Returns none if their encryption key is missing, because a run cannot use them either.
 */
export function readSecretsByPointer(kind: ConfigurationKind, row: object, ring: KeyRing): SecretsByPointer {
  try {
    return kindAdapters[kind].readSecrets(row, ring)
  } catch (error) {
    if (error instanceof SealProblem) return {}
    throw error
  }
}
