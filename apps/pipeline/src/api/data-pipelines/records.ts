import { sql, type Selectable } from 'kysely'
import { pipelineTypes, runTriggers, type CsvUploadPipeline } from '@sluice/contracts'
import { records, visibleTo, type Refined, type SharedColumns } from '@sluice/records'
import type { DataPipelines } from '../../database.ts'
import type { Asked } from '../operation.ts'
import { presentDataPipelines } from './present.ts'

export type DataPipelineRow = Refined<Selectable<DataPipelines>, SharedColumns & { tags: string[] }>

export const dataPipelines = records<DataPipelineRow, CsvUploadPipeline, Asked>({
  noun: 'data pipeline',
  table: 'data_pipelines',
  path: '/data-pipelines',
  properties: {
    id: { type: 'uid', column: 'r.uid' },
    name: { type: 'string', column: 'r.name' },
    description: { type: 'string', column: 'r.description' },
    owner: { type: 'string', column: 'r.owner' },
    type: { type: 'enum', column: 'r.type', values: pipelineTypes },
    disabled: { type: 'boolean', column: 'r.disabled' },
    runTrigger: { type: 'enum', column: 'r.run_trigger', values: runTriggers },
    dataWarehouseTargetTableName: { type: 'string', column: 'r.table_name' },
    created: { type: 'date-time', column: 'r.created_at' },
    lastUpdated: { type: 'date-time', column: 'r.updated_at' },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.table_name ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  present: presentDataPipelines,
})
