import type { Operation } from '@sluice/http'
import { authOperations } from './auth/operations.ts'
import { clientOperations } from './clients/operations.ts'
import { lookupOperations } from './lookups/operations.ts'
import type { IdentityContext } from './operation.ts'
import { sessionOperations } from './session/operations.ts'
import { userGroupOperations } from './user-groups/operations.ts'
import { userOperations } from './users/operations.ts'

/** Everything the service can be asked. */
export const operations: readonly Operation<IdentityContext>[] = [
  ...Object.values(clientOperations),
  ...Object.values(userOperations),
  ...Object.values(userGroupOperations),
  ...Object.values(sessionOperations),
  ...Object.values(authOperations),
  ...Object.values(lookupOperations),
]
