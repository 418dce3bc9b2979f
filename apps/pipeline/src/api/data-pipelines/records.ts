import { sql, type SqlBool } from 'kysely'
import { holds, pipelineTypes, runTriggers, type DataPipeline } from '@sluice/contracts'
import { matchesLineOf, records, visibleTo, type Level, type RecordKind } from '@sluice/records'
import type { Caller } from '@sluice/http'
import type { Asked } from '../operation.ts'
import { recordedProperties, tagsColumn } from '../recorded.ts'
import { presentDataPipelines } from './present.ts'
import type { DataPipelineRow } from './row.ts'

/** As it is indexed. */
const text = sql<string>`lower((r.name || e'\n' || r.table_name || e'\n' || coalesce(r.description, '')) collate pg_c_utf8)`

const kind: RecordKind<DataPipelineRow, DataPipeline, Asked> = {
  noun: 'data pipeline',
  table: 'data_pipelines',
  path: '/data-pipelines',
  properties: {
    ...recordedProperties,
    name: { type: 'string', column: 'r.name', required: true, within: text },
    description: { type: 'string', column: 'r.description', within: text },
    tags: { type: 'strings', column: tagsColumn },
    owner: { type: 'string', column: 'r.owner' },
    type: { type: 'enum', column: 'r.type', values: pipelineTypes },
    disabled: { type: 'boolean', column: 'r.disabled' },
    runTrigger: { type: 'enum', column: 'r.run_trigger', values: runTriggers },
    dataWarehouseTargetTableName: { type: 'string', column: 'r.table_name', required: true, within: text },
  },
  matches: (like) => matchesLineOf(text, like),
  changes: { table: 'record_changes', kind: 'data_pipelines' },
  scope: visibleTo,
  present: presentDataPipelines,
}

export const dataPipelines = records(kind)

/** The same for whoever may read all loaded data of the client, whoever the pipelines are shared with. */
export const loadedPipelines = records({ ...kind, scope: mayReadData })

function mayReadData(caller: Caller, level: Level) {
  const all = level === 'READ' && holds(caller.roles, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
  return all ? sql<SqlBool>`r.client = ${caller.client}` : visibleTo(caller, level)
}
