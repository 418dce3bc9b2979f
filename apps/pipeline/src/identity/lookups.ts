import type { ClientSummary, Standing, UserGroupSummary, UserSummary } from '@sluice/contracts'

/** What this service asks the identity service. Throws 503 problems where an answer is needed and cannot be had. */
export interface IdentityLookups {
  /** Of a user in one session: at most ten seconds old, or older while identity is down. Undefined: no such session. */
  standing(uid: string, session: string): Promise<Standing | undefined>
  /** Those that exist, by uid. */
  users(uids: readonly string[]): Promise<ReadonlyMap<string, UserSummary>>
  userGroups(uids: readonly string[]): Promise<ReadonlyMap<string, UserGroupSummary>>
  client(uid: string): Promise<ClientSummary | undefined>
}
