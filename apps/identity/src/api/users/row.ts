import type { Selectable } from 'kysely'
import type { Role, User, UserStatus } from '@sluice/contracts'
import type { RefinedRow, SharedColumns } from '@sluice/records'
import type { Users } from '../../database.ts'

export type UserRow = RefinedRow<
  Selectable<Users>,
  Pick<SharedColumns, 'translations'> & { roles: Role[]; status: UserStatus; start_page: User['startPage'] }
>
