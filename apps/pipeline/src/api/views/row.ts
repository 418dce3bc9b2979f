import type { Refined, SharedColumns } from '@sluice/records'
import type { Selectable } from 'kysely'
import type { Views } from '../../database.ts'

export type ViewRow = Refined<Selectable<Views>, SharedColumns & { tags: string[] }>
