import type { Selectable } from 'kysely'
import type { Refined } from '@sluice/records'
import type { PublicDatasets } from '../../database.ts'

export type PublicDatasetRow = Refined<Selectable<PublicDatasets>, { tags: string[] }>
