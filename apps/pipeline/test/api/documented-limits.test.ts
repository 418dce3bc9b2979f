import { readFile } from 'node:fs/promises'
import { describe, expect, it } from '@jest/globals'
import {
  ConfigurationBody,
  DataQualityCheckBody,
  DataQualityCheckGroupBody,
  maxJobs,
  pipelineOperations,
  pipelineVariants,
  PublicDatasetKey,
  RunInput,
  SchemaBody,
  SettingBody,
  VariableBody,
  ViewBody,
  WarehouseReaderBody,
  WorkflowBody,
} from '@sluice/contracts'

const table = await readFile(new URL('../../../../docs/bounds.md', import.meta.url), 'utf8')

type Json = Record<string, any>

/** The schema of a field. A path goes through the items of lists. */
const fieldOf = (contract: object, path: string): Json =>
  path.split('.').reduce<Json>((schema, name) => {
    const { properties } = (schema['items'] ?? schema) as { properties: Record<string, Json> }
    return properties[name]!
  }, contract)

const bodyOf = (type: string) => pipelineVariants.find((variant) => variant.type === type)!.body
const steps = fieldOf(WorkflowBody, 'steps.steps')
const key = PublicDatasetKey as unknown as { minLength: number; maxLength: number }

/** The bounds in the contracts, by the first field of a row. */
const bounds: [string, ...number[]][] = [
  ['name', fieldOf(ViewBody, 'name')['maxLength']],
  ['description', fieldOf(ViewBody, 'description')['maxLength']],
  ['owner', fieldOf(bodyOf('CSV_UPLOAD'), 'owner')['maxLength']],
  ['url', fieldOf(bodyOf('CSV_UPLOAD'), 'url')['maxLength']],
  ['tags', fieldOf(ViewBody, 'tags')['maxItems'], fieldOf(ViewBody, 'tags')['items'].maxLength],
  ['translations', fieldOf(ViewBody, 'translations')['maxItems']],
  ['userAccess', fieldOf(ViewBody, 'access.userAccess')['maxItems']],
  ['Schema.schemaName', fieldOf(SchemaBody, 'schemaName')['maxLength']],
  ['View.query', fieldOf(ViewBody, 'query')['maxLength'], fieldOf(bodyOf('SQL_DATABASE_D'), 'sqlQuery')['maxLength']],
  [
    'transformation.sqlStatements',
    fieldOf(bodyOf('CSV_UPLOAD'), 'transformation.sqlStatements')['maxItems'],
    fieldOf(bodyOf('CSV_UPLOAD'), 'transformation.sqlStatements.statement')['maxLength'],
  ],
  ['DatabaseQuery.tables', fieldOf(bodyOf('SQL_DATABASE_D'), 'tables')['maxItems']],
  ['facilities', fieldOf(bodyOf('SOURCE_SYSTEM_H'), 'facilities')['maxItems']],
  ['objectStoreSource.key', fieldOf(bodyOf('OBJECT_STORAGE_BUCKET'), 'key')['maxLength']],
  [
    'WarehouseReader.schemas',
    fieldOf(WarehouseReaderBody, 'schemas')['maxItems'],
    fieldOf(WarehouseReaderBody, 'networks')['maxItems'],
  ],
  ['WorkflowSteps.steps', steps['maxItems'], fieldOf(steps, 'jobs')['maxItems']],
  ['Workflow', maxJobs],
  ['Step.delayAfter', fieldOf(steps, 'delayAfter')['maximum']],
  ['cronExpression', fieldOf(ViewBody, 'cronExpression')['maxLength']],
  [
    'labels',
    fieldOf(DataQualityCheckBody, 'labels')['maxItems'],
    fieldOf(DataQualityCheckBody, 'labels.key')['maxLength'],
    fieldOf(DataQualityCheckBody, 'labels.value')['maxLength'],
  ],
  ['DataQualityCheckGroup.dataQualityChecks', fieldOf(DataQualityCheckGroupBody, 'dataQualityChecks')['maxItems']],
  ['Variable.name', fieldOf(VariableBody, 'name')['maxLength']],
  ['RunInput.variables', fieldOf(RunInput, 'variables')['maxItems']],
  ['Setting.value', fieldOf(SettingBody, 'value')['maxLength']],
  ['PublicDataset.key', key.minLength, key.maxLength],
  [
    'dataPipelines` of a bulk body',
    fieldOf(pipelineOperations.dataPipelines.saveMany.body!, 'dataPipelines')['maxItems'],
  ],
  ['schemas` of a configuration', fieldOf(ConfigurationBody, 'schemas')['maxItems']],
]

describe('the table of limits', () => {
  it.each(bounds)('contains the limits of the contract for %s', (field, ...numbers) => {
    const row = table
      .split('\n')
      .find((line) => line.startsWith(`| \`${field}`) && /[`,| ]/.test(line[field.length + 3]!))
    expect(row).toBeDefined()
    const words = row!
      .split('|')[2]!
      .split(/[^\d,]+/)
      .map((word) => word.replace(/,$/, ''))
    for (const number of numbers) expect(words).toContain(number.toLocaleString('en'))
  })
})
