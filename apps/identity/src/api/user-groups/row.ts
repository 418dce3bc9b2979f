import type { Selectable } from 'kysely'
import type { Refined, SharedColumns } from '@sluice/records'
import type { UserGroups } from '../../database.ts'

export type UserGroupRow = Refined<Selectable<UserGroups>, Pick<SharedColumns, 'translations'>>
