import { holds, type ClientSummary, type Credential, type Signature, type Standing } from '@sluice/contracts'
import { batchedLookUp, cachedLookUp, lookups, orAbsent, serviceClient } from '@sluice/contracts/client'
import { scopeHeaders } from '@sluice/process'
import type { IdentityLookups } from './lookups.ts'

const seconds = 1_000
/** A token's whole life: while identity is down, whoever was let in stays until it ends. */
const whileDown = 5 * 60 * seconds

/**
 * Asks the identity service over HTTP. It remembers standings for five seconds and names for a minute, and for longer while
 * the identity service is down. It never remembers the standing of a session that can switch its client.
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

  const standings = cachedLookUp(
    (key) => {
      return orAbsent(identity.call(lookups.standing, { body: JSON.parse(key) as Credential }))
    },
    { ttl: 5 * seconds, staleFor: whileDown, max: 10_000, mayRemember: (standing) => !canSwitchClient(standing) },
  )
  const users = batchedLookUp(byId(lookups.users), { ttl: 60 * seconds, staleFor: whileDown, max: 50_000 })
  const userGroups = batchedLookUp(byId(lookups.userGroups), { ttl: 60 * seconds, staleFor: whileDown, max: 10_000 })
  const clients = batchedLookUp<ClientSummary>(byId(lookups.clients), {
    ttl: 10 * seconds,
    staleFor: whileDown,
    max: 10_000,
  })

  return {
    // One order of keys, so that one credential has one entry.
    standing: ({ kind, id, session, application }) => standings.get(JSON.stringify({ kind, id, session, application })),
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
 * A super admin in person. PUT /session/client holds from the next request on, so a remembered client would send that
 * request to the organisation that was left.
 */
const canSwitchClient = ({ kind, roles }: Standing): boolean => kind === 'session' && holds(roles, 'ROLE_SUPER_ADMIN')
