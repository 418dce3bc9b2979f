import type { KeyRing } from '@sluice/database'
import { type Caller, problems } from '@sluice/http-server'
import { visibleTo } from '@sluice/records'
import type { Transaction } from 'kysely'
import {
  type DataPipelineBody,
  type SentDataPipelineBody,
  checkPipelineBody,
  inferPipelineTypes,
} from '@sluice/contracts'
import type { DB } from '../../database.ts'
import { type Variables, readVariables } from '../../variables/variables.ts'
import { lockWritableSchema } from '../schemas/records.ts'
import { readDefaultAccess } from '../object-access.ts'
import type { RequestContext } from '../operation-context.ts'

interface TargetSchema {
  id: number
  uid: string
  name: string
  provider_schema: string
}

/** Functions that look up the objects to which the columns of a pipeline refer. */
export interface PipelineLookups {
  schema(id: number): Promise<TargetSchema | undefined>
  /** Locks and returns the schema; undefined if the caller may not write to it. */
  lockWritableSchema(uid: string): Promise<TargetSchema | undefined>
  hasView(schema: number, name: string): Promise<boolean>
  readDefaultAccess(): Promise<'NONE' | 'READ'>
  /** The variables of the caller's organisation, decrypted. */
  variables(ring: KeyRing): Promise<Variables>
}

/** Returns functions that query the objects to which a pipeline refers. */
export function createLookups(trx: Transaction<DB>, caller: Caller): PipelineLookups {
  return {
    schema: (id) =>
      trx
        .selectFrom('schemas')
        .select(['id', 'uid', 'name', 'provider_schema'])
        .where('id', '=', id)
        .executeTakeFirst(),
    lockWritableSchema: (uid) => lockWritableSchema(trx, caller, uid),
    async hasView(schema, name) {
      const views = trx.selectFrom('views').select('id').where('schema_id', '=', schema)
      return (await views.where('view_name', '=', name).executeTakeFirst()) !== undefined
    },
    readDefaultAccess: () => readDefaultAccess(trx, caller.client),
    variables: (ring) => readVariables(trx, caller.client, ring),
  }
}

/**
 * Returns lookup functions with a cache, for saving many pipelines in one transaction. The cached rows cannot change,
 * because the transaction holds locks on them.
 */
export function createCachedLookups(trx: Transaction<DB>, caller: Caller): PipelineLookups {
  const uncached = createLookups(trx, caller)
  const access = memoize(() => uncached.readDefaultAccess())
  const views = memoize(async (schema: number) => {
    const rows = await trx.selectFrom('views').select('view_name').where('schema_id', '=', schema).execute()
    return new Set(rows.map(({ view_name }) => view_name))
  })
  return {
    schema: memoize(uncached.schema),
    lockWritableSchema: memoize(uncached.lockWritableSchema),
    hasView: async (schema, name) => (await views(schema)).has(name),
    readDefaultAccess: () => access(''),
    variables: memoize(uncached.variables),
  }
}

function memoize<Key, Answer>(read: (key: Key) => Promise<Answer>): (key: Key) => Promise<Answer> {
  const cache = new Map<Key, Promise<Answer>>()
  return (key) => {
    const result = cache.get(key) ?? read(key)
    cache.set(key, result)
    return result
  }
}

/**
 * Adds the type to a request body that omits it: the type of the pipeline that it replaces, or the only type that fits
 * its fields. Throws a problem if no type or several types fit.
 */
export async function resolveType(
  sentBody: SentDataPipelineBody,
  storedType?: () => Promise<string | undefined>,
): Promise<DataPipelineBody> {
  if (hasType(sentBody)) return sentBody
  const checked = checkPipelineBody((await storedType?.()) ?? inferType(sentBody), sentBody)
  if ('violations' in checked) throw problems.violated(checked)
  return checked.value
}

/**
 * Returns the request bodies with their types. A body that omits its type gets the type of the stored pipeline with the
 * same name. Runs the check of each body in `collect`, which records its violations.
 */
export async function resolveTypes(
  sentBodies: readonly SentDataPipelineBody[],
  { db, caller }: RequestContext,
  collect: (index: number, callback: () => Promise<void>) => Promise<unknown>,
): Promise<DataPipelineBody[]> {
  const namesWithoutType = sentBodies
    .filter(({ type, name }) => !type && typeof name === 'string')
    .map(({ name }) => name)
  const stored =
    namesWithoutType.length === 0
      ? []
      : await db
          .selectFrom('data_pipelines as r')
          .select(['name', 'type'])
          .where('name', 'in', namesWithoutType)
          .where(visibleTo(caller, 'READ'))
          .execute()
  const typesByName = new Map(stored.map(({ name, type }) => [name, type]))
  const typed: DataPipelineBody[] = []
  for (const [index, body] of sentBodies.entries())
    await collect(index, async () => {
      typed.push(await resolveType(body, async () => typesByName.get(body.name)))
    })
  return typed
}

const hasType = (sentBody: SentDataPipelineBody): sentBody is DataPipelineBody =>
  (sentBody.type ?? undefined) !== undefined

function inferType(sentBody: SentDataPipelineBody): string {
  const [type, ...otherTypes] = inferPipelineTypes(sentBody)
  if (type === undefined)
    throw problems.malformed([{ pointer: '/type', detail: 'is required, because the fields match no pipeline type' }])
  if (otherTypes.length > 0)
    throw problems.refused('/type', `The fields match several types. Set one: ${[type, ...otherTypes].join(', ')}.`)
  return type
}
