import { RemoteProblem, serviceClient, ServiceUnavailable } from '@sluice/client'
import {
  createAjv,
  hasRole,
  identityOperations,
  type Credential,
  type NamedPrincipals,
  type OperationSignature,
  type PrincipalState,
} from '@sluice/contracts'
import { scopeHeaders } from '@sluice/process'
import { batchLookups, lookupCache } from './lookup-cache.ts'
import type { IdentityLookups } from './identity-lookups.ts'

const { lookups } = identityOperations

/** The maximum number of ids in one request. */
const maxBatchSize = 1_000
const timeoutMs = 3_000

/**
 * Creates lookups that query the identity service over HTTP. They cache principals for 5 seconds, organisations for 10
 * seconds and names for a minute, and use older values while the identity service is down. The principal of a session
 * that can switch its organisation is not cached.
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
    token: SERVICE_SECRET,
    headers: scopeHeaders,
    timeout: timeoutMs,
  })
  const call = async <Body, Result>(signature: OperationSignature<string, any, Body, Result>, body: Body) =>
    checkResponse(signature, (await identity.send(signature, { body })).body)

  const principal = lookupCache(readPrincipal, {
    ttl: 5_000,
    max: 10_000,
    isCacheable: (principal) => !canSwitchClient(principal),
  })
  const user = cachedById((body) => call(lookups.users, body), { ttl: 60_000, max: 50_000 })
  const userGroup = cachedById((body) => call(lookups.userGroups, body), { ttl: 60_000, max: 10_000 })
  const client = cachedById((body) => call(lookups.clients, body), { ttl: 10_000, max: 10_000 })

  async function readPrincipal(key: string): Promise<PrincipalState | undefined> {
    try {
      return await call(lookups.standing, JSON.parse(key) as Credential)
    } catch (error) {
      if (error instanceof RemoteProblem && error.status === 404) return undefined
      throw error
    }
  }

  return {
    // Write the properties in a fixed order, so that each credential has exactly one cache entry.
    findPrincipal: ({ kind, id, session, application, grant }) =>
      principal(JSON.stringify({ kind, id, session, application, grant })),
    users: (uids) => findAll(uids, user),
    userGroups: (uids) => findAll(uids, userGroup),
    async principals({ client, usernames, userGroupCodes }) {
      const principals: NamedPrincipals = { users: [], userGroups: [] }
      for (let start = 0; start < Math.max(usernames.length, userGroupCodes.length); start += maxBatchSize) {
        const batch = (names: string[]) => names.slice(start, start + maxBatchSize)
        const body = { client, usernames: batch(usernames), userGroupCodes: batch(userGroupCodes) }
        const { users, userGroups } = await call(lookups.principals, body)
        principals.users.push(...users)
        principals.userGroups.push(...userGroups)
      }
      return principals
    },
    client,
    clients: (uids) => findAll(uids, client),
    async letPublish(uids) {
      if (uids.length > 0) await call(lookups.datasetPublishers, { ids: uids.slice(0, maxBatchSize) })
    },
    currentClients: (uids) => readBatches(uids, (body) => call(lookups.clients, body)),
    deletedClients: (uids) => readBatches(uids, (body) => call(lookups.deletedClients, body)),
  }
}

/**
 * Validates responses. The identity service can be newer than this one, so fields that the contract lacks are removed;
 * all required fields must be present.
 */
const ajv = createAjv({ removeAdditional: true })

/**
 * Returns the body of a response if it conforms to the contract of the operation. Throws `ServiceUnavailable` with
 * `malformed-answer` otherwise.
 */
export function checkResponse<Result>(
  { id, response }: OperationSignature<string, any, any, Result>,
  body: unknown,
): Result {
  if (!response || ajv.validate(response, body)) return body as Result
  const [{ instancePath, message } = { instancePath: '', message: '' }] = ajv.errors ?? []
  throw new ServiceUnavailable(
    'malformed-answer',
    `The response to ${id} does not match its contract: ${instancePath || '/'} ${message}.`,
  )
}

function cachedById<T extends { id: string }>(
  read: (body: { ids: string[] }) => Promise<T[]>,
  limits: { ttl: number; max: number },
): (uid: string) => Promise<T | undefined> {
  const readMany = async (ids: string[]) => new Map((await readBatches(ids, read)).map((object) => [object.id, object]))
  return lookupCache(batchLookups(readMany), limits)
}

/** Reads objects by uid. Sends several requests if there are more uids than one request may have. */
async function readBatches<T>(uids: readonly string[], read: (body: { ids: string[] }) => Promise<T[]>): Promise<T[]> {
  const results: T[] = []
  for (let start = 0; start < uids.length; start += maxBatchSize)
    results.push(...(await read({ ids: uids.slice(start, start + maxBatchSize) })))
  return results
}

/** Returns the objects that exist, as a map by uid. */
async function findAll<T>(uids: readonly string[], find: (uid: string) => Promise<T | undefined>) {
  const results = await Promise.all(Array.from(new Set(uids), async (uid) => [uid, await find(uid)] as const))
  return new Map(results.flatMap(([uid, object]) => (object === undefined ? [] : [[uid, object] as const])))
}

/**
 * Returns whether the principal is a super admin's session, which can switch the organisation (PUT /session/client).
 * Such a principal is not cached, because the next request could otherwise run in the previous organisation.
 */
const canSwitchClient = ({ kind, roles }: PrincipalState): boolean =>
  kind === 'session' && hasRole(roles, 'ROLE_SUPER_ADMIN')
