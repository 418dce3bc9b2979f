import type { AccessPart, Configuration, ConfigurationKind, ConfiguredObject, ObjectAccess } from '@sluice/contracts'
import { configurationKinds } from '@sluice/contracts'
import { sql } from 'kysely'
import type { IdentityLookups } from '../../identity/identity-lookups.ts'
import type { RequestContext } from '../operation-context.ts'
import { kindAdapters } from './object-kind-adapters.ts'

type ConfiguredAccess = NonNullable<ConfiguredObject['access']>
type StoredGrants = Pick<ObjectAccess, 'userAccess' | 'userGroupAccess'>

/** The users and user groups with which objects are shared, by id and by name. */
export type KnownPrincipals = Awaited<ReturnType<typeof readPrincipals>>

/** Looks up the users and user groups that a configuration names, and those with which stored objects are shared. */
export async function readPrincipals(
  { configuration = {}, resources = [] }: { configuration?: Configuration; resources?: { access?: StoredGrants }[] },
  { identity, caller }: Pick<RequestContext, 'identity' | 'caller'>,
) {
  const accessByName = Object.values(configuration).flatMap((objects) => objects.flatMap(({ access }) => access ?? []))
  const usernames = unique(accessByName.flatMap(({ userAccess = [] }) => userAccess.map(({ username }) => username)))
  const userGroupCodes = unique(
    accessByName.flatMap(({ userGroupAccess = [] }) => userGroupAccess.map(({ code }) => code)),
  )
  const accessById = resources.flatMap(({ access }) => access ?? [])
  const userIds = unique(accessById.flatMap(({ userAccess }) => userAccess.map(({ id }) => id)))
  const groupIds = unique(accessById.flatMap(({ userGroupAccess }) => userGroupAccess.map(({ id }) => id)))
  const [namedPrincipals, users, groups] = await Promise.all([
    usernames.length + userGroupCodes.length > 0
      ? identity.principals({ client: caller.client, usernames, userGroupCodes })
      : { users: [], userGroups: [] },
    identity.users(userIds),
    identity.userGroups(groupIds),
  ])
  const usersById = new Map([...users, ...namedPrincipals.users.map((user) => [user.id, user] as const)])
  const groupsById = new Map([...groups, ...namedPrincipals.userGroups.map((group) => [group.id, group] as const)])
  const idsByUsername = Map.groupBy(namedPrincipals.users, ({ username }) => username)
  const idsByCode = new Map(namedPrincipals.userGroups.map(({ id, code }) => [code, id]))

  return {
    /**
     * A lookup client that knows only these users and groups, so that a transaction does not wait for the identity
     * service.
     */
    identity: offlineIdentity(identity, { users: usersById, userGroups: groupsById }),

    /** Converts the access of an object to the form in the document, with names. Omits deleted users and groups. */
    nameAccess({ publicAccess, userAccess, userGroupAccess }: ObjectAccess): ConfiguredAccess {
      const userGrants = userAccess.flatMap(({ id, access }) => {
        const user = usersById.get(id)
        return user ? [{ username: user.username, access }] : []
      })
      const groupGrants = userGroupAccess.flatMap(({ id, access }) => {
        const group = groupsById.get(id)
        return group ? [{ code: group.code, access }] : []
      })
      return {
        publicAccess,
        userAccess: userGrants.toSorted(byText(({ username }) => username)),
        userGroupAccess: groupGrants.toSorted(byText(({ code }) => code)),
      }
    },

    /**
     * Converts the access in the document to a request body, with ids. Calls `refuse` for each user and group that the
     * organisation lacks, and for a name that both a user and an application have.
     */
    resolveAccess(
      { publicAccess, userAccess, userGroupAccess }: ConfiguredAccess,
      refuse: (pointer: string, detail: string) => void,
    ): AccessPart {
      const userGrants = userAccess?.map(({ username, access = 'READ' }, index) => {
        const [user, ...others] = idsByUsername.get(username) ?? []
        const pointer = `/access/userAccess/${index}/username`
        if (!user)
          refuse(pointer, `Your organisation has no user "${username}". Create the user, or remove this entry.`)
        else if (others.length > 0)
          refuse(
            pointer,
            `Both a user and an application are named "${username}", so this entry could mean either. Remove it, and share the object in a request with the id.`,
          )
        return { id: user?.id ?? '', access }
      })
      const groupGrants = userGroupAccess?.map(({ code, access = 'READ' }, index) => {
        const id = idsByCode.get(code)
        if (id === undefined)
          refuse(
            `/access/userGroupAccess/${index}/code`,
            `Your organisation has no user group with the code "${code}". Create the group, or remove this entry.`,
          )
        return { id: id ?? '', access }
      })
      return {
        ...(publicAccess && { publicAccess }),
        ...(userGrants && { userAccess: userGrants }),
        ...(groupGrants && { userGroupAccess: groupGrants }),
      }
    },
  }
}

const unique = <T>(list: readonly T[]): T[] => [...new Set(list)]

const byText =
  <T>(textOf: (item: T) => string) =>
  (one: T, other: T): number =>
    textOf(one) < textOf(other) ? -1 : 1

/**
 * Returns a lookup client that finds only the users and groups in `known`, and sends no requests for them or for
 * organisations.
 */
export function offlineIdentity(
  identity: IdentityLookups,
  known: {
    users: Awaited<ReturnType<IdentityLookups['users']>>
    userGroups: Awaited<ReturnType<IdentityLookups['userGroups']>>
  } = { users: new Map(), userGroups: new Map() },
): IdentityLookups {
  return {
    ...identity,
    users: async () => known.users,
    userGroups: async () => known.userGroups,
    client: async () => undefined,
  }
}

/**
 * Returns the access of the stored objects that the configuration replaces: the users and groups with which they are
 * shared.
 */
export async function readStoredAccess(
  configuration: Configuration,
  { db, caller }: Pick<RequestContext, 'db' | 'caller'>,
): Promise<{ access: StoredGrants }[]> {
  const storedAccess: { access: StoredGrants }[] = []
  for (const kind of configurationKinds) {
    const names = (configuration[kind] ?? []).flatMap(({ name, was }) => (was === undefined ? [name] : [name, was]))
    if (names.length === 0 || !hasAccessRights(kind)) continue
    const { table } = kindAdapters[kind].bulkSave.records.definition
    // Objects that are not shared with any user or group have two empty lists.
    const { rows } = await sql<{ access: StoredGrants }>`
      select json_build_object('userAccess', user_access, 'userGroupAccess', user_group_access) as access
      from ${sql.table(table)}
      where client = ${caller.client} and name = any(${names}) and (user_access <> '[]' or user_group_access <> '[]')`.execute(
      db,
    )
    storedAccess.push(...rows)
  }
  return storedAccess
}

/** Variables have no access rights, because all users of the organisation share them. */
const hasAccessRights = (kind: ConfigurationKind): boolean => kind !== 'variables'
