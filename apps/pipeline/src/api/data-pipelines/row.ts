import type { Selectable } from 'kysely'
import type { Refined, SharedColumns } from '@sluice/records'
import type { DataPipelines } from '../../database.ts'

export type DataPipelineRow = Refined<Selectable<DataPipelines>, SharedColumns & { tags: string[] }>
