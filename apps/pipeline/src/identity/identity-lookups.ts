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

/** Lookups in the identity service. They throw 503 while the identity service is unavailable. */
export interface IdentityLookups {
  /**
   * Returns the principal of a credential; undefined if the session, application or token does not exist. The result is
   * at most ten seconds old, or older while the identity service is down. The principal of a super admin's session is
   * never cached.
   */
  findPrincipal(credential: Credential): Promise<PrincipalState | undefined>
  /** Returns the users that exist, as a map by uid. */
  users(uids: readonly string[]): Promise<ReadonlyMap<string, UserSummary>>
  userGroups(uids: readonly string[]): Promise<ReadonlyMap<string, UserGroupSummary>>
  /**
   * Returns the users, applications and user groups of an organisation with these usernames and codes. Never cached.
   */
  principals(names: PrincipalNames): Promise<NamedPrincipals>
  client(uid: string): Promise<ClientSummary | undefined>
  /** Returns the organisations that exist, as a map by uid. */
  clients(uids: readonly string[]): Promise<ReadonlyMap<string, ClientSummary>>
  /** Returns the organisations that exist. Never cached. */
  currentClients(uids: readonly string[]): Promise<ClientSummary[]>
  /**
   * Returns the organisations among `uids` that were deleted. Never cached, because the caller permanently erases their
   * data.
   */
  deletedClients(uids: readonly string[]): Promise<DeletedClientSummary[]>
  /** Grants these organisations the right to publish datasets. Ignores organisations that no longer exist. */
  letPublish(uids: readonly string[]): Promise<void>
}
