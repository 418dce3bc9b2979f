import type {
  ClientSummary,
  Credential,
  DeletedClientSummary,
  PrincipalState,
  UserGroupSummary,
  UserSummary,
} from '@sluice/contracts'

/** Queries to the identity service. They throw 503 problems while the identity service is unavailable. */
export interface IdentityLookups {
  /**
   * The principal of a credential; undefined if the session, application or token does not exist. At most ten seconds old, or older
   * while the identity service is down. Never cached for the session of a super admin: 503 while the identity service is down.
   */
  findPrincipal(credential: Credential): Promise<PrincipalState | undefined>
  /** Existing ones by uid. */
  users(uids: readonly string[]): Promise<ReadonlyMap<string, UserSummary>>
  userGroups(uids: readonly string[]): Promise<ReadonlyMap<string, UserGroupSummary>>
  client(uid: string): Promise<ClientSummary | undefined>
  /** Existing ones by uid. */
  clients(uids: readonly string[]): Promise<ReadonlyMap<string, ClientSummary>>
  /** The deleted ones among these. Never cached, because the data of these clients is erased for good. */
  deletedClients(uids: readonly string[]): Promise<DeletedClientSummary[]>
  /** Grants these clients the domain that publishing requires. Ignores clients that no longer exist. */
  letPublish(uids: readonly string[]): Promise<void>
}
