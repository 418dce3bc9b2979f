import { auth } from './operations/auth.ts'
import { clients } from './operations/clients.ts'
import { lookups } from './operations/lookups.ts'
import { session } from './operations/session.ts'
import { userGroups } from './operations/user-groups.ts'
import { users } from './operations/users.ts'

/** Everything that the identity service can be asked. */
export const identityOperations = { clients, users, userGroups, session, auth, lookups }
