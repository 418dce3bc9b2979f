import type { Selectable } from 'kysely'
import type { RefinedRow, SharedColumns } from '@sluice/records'
import type { UserGroups } from '../../database.ts'

export type UserGroupRow = RefinedRow<Selectable<UserGroups>, Pick<SharedColumns, 'translations'>>
