import type { Selectable } from 'kysely'
import type { Refined, SharedColumns } from '@sluice/records'
import type { Workflows } from '../../database.ts'

export type WorkflowRow = Refined<Selectable<Workflows>, SharedColumns>
