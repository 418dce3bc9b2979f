import type {
  ClientSummary,
  Credential,
  DeletedClientSummary,
  Standing,
  UserGroupSummary,
  UserSummary,
} from '@sluice/contracts'

/** What this service asks the identity service. Throws 503 problems where an answer is needed and cannot be had. */
export interface IdentityLookups {
  /**
   * Who comes with a credential; undefined where no such session, application or token exists. At most ten seconds old, or
   * older while identity is down. Of a super admin in person never old: 503 while identity is down.
   */
  standing(credential: Credential): Promise<Standing | undefined>
  /** Those that exist, by uid. */
  users(uids: readonly string[]): Promise<ReadonlyMap<string, UserSummary>>
  userGroups(uids: readonly string[]): Promise<ReadonlyMap<string, UserGroupSummary>>
  client(uid: string): Promise<ClientSummary | undefined>
  /** Those that exist, by uid. */
  clients(uids: readonly string[]): Promise<ReadonlyMap<string, ClientSummary>>
  /** Those that were deleted. Never remembered: what is erased because of this answer does not come back. */
  deletedClients(uids: readonly string[]): Promise<DeletedClientSummary[]>
  /** Gives these clients the domain that publishing takes. Those that there are no more are left out. */
  letPublish(uids: readonly string[]): Promise<void>
}
