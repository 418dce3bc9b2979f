import type {
  ClientSummary,
  Credential,
  DeletedClientSummary,
  NamedPrincipals,
  PrincipalNames,
  PrincipalState,
  UserGroupSummary,
  UserSummary,
} from '@sluice/contracts'

/** Lookups in the identity service. They throw a problem with status 503 while the identity service is unavailable. */
export interface IdentityLookups {
  /**
   * Returns the principal of a credential; undefined if the session, application or token does not exist. It is at most ten seconds
   * old, or older while the identity service is down. The principal of a super admin's session is never cached.
   */
  findPrincipal(credential: Credential): Promise<PrincipalState | undefined>
  /** Returns the objects that exist, by uid. */
  users(uids: readonly string[]): Promise<ReadonlyMap<string, UserSummary>>
  userGroups(uids: readonly string[]): Promise<ReadonlyMap<string, UserGroupSummary>>
  /** Returns the users, applications and user groups of a client that have these usernames and codes. Never cached. */
  principals(names: PrincipalNames): Promise<NamedPrincipals>
  client(uid: string): Promise<ClientSummary | undefined>
  /** Returns the objects that exist, by uid. */
  clients(uids: readonly string[]): Promise<ReadonlyMap<string, ClientSummary>>
  /** Returns the objects that exist. Responses are never cached. */
  currentClients(uids: readonly string[]): Promise<ClientSummary[]>
  /**
   * Returns the clients among `uids` that were deleted. Responses are never cached, because the caller permanently
   * erases the data of deleted clients.
   */
  deletedClients(uids: readonly string[]): Promise<DeletedClientSummary[]>
  /** Grants these clients the right to publish datasets. Ignores clients that no longer exist. */
  letPublish(uids: readonly string[]): Promise<void>
}
