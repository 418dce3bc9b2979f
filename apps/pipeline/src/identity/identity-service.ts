import { holds, type ClientSummary, type Credential, type Signature, type PrincipalState } from '@sluice/contracts'
import { createBatchedLookupCache, createLookupCache, lookups, orAbsent, serviceClient } from '@sluice/contracts/client'
import { scopeHeaders } from '@sluice/process'
import type { IdentityLookups } from './lookups.ts'

const seconds = 1_000
/** The lifetime of a token: while the identity service is down, signed-in users stay until their token expires. */
const whileDown = 5 * 60 * seconds

/**
 * Queries the identity service over HTTP. Caches principals for five seconds and names for a minute, and for longer while the identity
 * service is down. Never caches the principal of a session that can switch its client.
 */
export function identityLookups({
  IDENTITY_URL,
  SERVICE_SECRET,
}: {
  IDENTITY_URL: string
  SERVICE_SECRET: string
}): IdentityLookups {
  const identity = serviceClient({
    baseUrl: IDENTITY_URL,
    name: 'The identity service',
    token: () => SERVICE_SECRET,
    headers: scopeHeaders,
  })

  const principals = createLookupCache(
    (key) => {
      return orAbsent(identity.call(lookups.standing, { body: JSON.parse(key) as Credential }))
    },
    { ttl: 5 * seconds, staleFor: whileDown, max: 10_000, mayRemember: (standing) => !canSwitchClient(standing) },
  )
  const users = createBatchedLookupCache(byId(lookups.users), { ttl: 60 * seconds, staleFor: whileDown, max: 50_000 })
  const userGroups = createBatchedLookupCache(byId(lookups.userGroups), {
    ttl: 60 * seconds,
    staleFor: whileDown,
    max: 10_000,
  })
  const clients = createBatchedLookupCache<ClientSummary>(byId(lookups.clients), {
    ttl: 10 * seconds,
    staleFor: whileDown,
    max: 10_000,
  })

  return {
    // A fixed order of keys gives each credential one cache entry.
    standing: ({ kind, id, session, application }) =>
      principals.get(JSON.stringify({ kind, id, session, application })),
    users: (uids) => users.getMany(uids),
    userGroups: (uids) => userGroups.getMany(uids),
    client: (uid) => clients.get(uid),
    clients: (uids) => clients.getMany(uids),
    async letPublish(uids) {
      if (uids.length > 0) await identity.call(lookups.datasetPublishers, { body: { ids: uids.slice(0, 1000) } })
    },
    async deletedClients(uids) {
      const found = []
      for (let start = 0; start < uids.length; start += 1000)
        found.push(...(await identity.call(lookups.deletedClients, { body: { ids: uids.slice(start, start + 1000) } })))
      return found
    },
  }

  function byId<T extends { id: string }>(look: Signature<any, undefined, { ids: string[] }, T[]>) {
    return async (ids: string[]): Promise<Map<string, T>> => {
      const found = await identity.call(look, { body: { ids } } as never)
      return new Map(found.map((one) => [one.id, one]))
    }
  }
}

/**
 * True for the session of a super admin. PUT /session/client takes effect with the next request, so a cached client would send that
 * request to the previous organisation.
 */
const canSwitchClient = ({ kind, roles }: PrincipalState): boolean =>
  kind === 'session' && holds(roles, 'ROLE_SUPER_ADMIN')
