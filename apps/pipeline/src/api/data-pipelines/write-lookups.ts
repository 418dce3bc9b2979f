import type { KeyRing } from '@sluice/database'
import { type Caller, problems } from '@sluice/http-server'
import type { Transaction } from 'kysely'
import { type DataPipelineBody, type SentDataPipelineBody, checkPipelineBody, pipelineTypesOf } from '@sluice/contracts'
import type { DB } from '../../database.ts'
import { type Variables, readVariables } from '../../variables/variables.ts'
import { writableSchema } from '../schemas/records.ts'
import { defaultAccess } from '../object-access.ts'

interface TargetSchema {
  id: number
  uid: string
  name: string
  provider_schema: string
}

/** Look-ups of the objects that the columns of a pipeline depend on. */
export interface PipelineLookups {
  schema(id: number): Promise<TargetSchema | undefined>
  /** Locks the schema; undefined if the caller may not write to it. */
  writableSchema(uid: string): Promise<TargetSchema | undefined>
  hasView(schema: number, name: string): Promise<boolean>
  defaultAccess(): Promise<'NONE' | 'READ'>
  /** The variables of the caller's client, unsealed. */
  variables(ring: KeyRing): Promise<Variables>
}

/** Look-ups without a cache. */
export function lookups(trx: Transaction<DB>, caller: Caller): PipelineLookups {
  return {
    schema: (id) =>
      trx
        .selectFrom('schemas')
        .select(['id', 'uid', 'name', 'provider_schema'])
        .where('id', '=', id)
        .executeTakeFirst(),
    writableSchema: (uid) => writableSchema(trx, caller, uid),
    async hasView(schema, name) {
      const views = trx.selectFrom('views').select('id').where('schema_id', '=', schema)
      return (await views.where('view_name', '=', name).executeTakeFirst()) !== undefined
    },
    defaultAccess: () => defaultAccess(trx, caller.client),
    variables: (ring) => readVariables(trx, caller.client, ring),
  }
}

/** Cached look-ups for many pipelines of one transaction. Rows that they lock must stay locked until it ends. */
export function cachedLookups(trx: Transaction<DB>, caller: Caller): PipelineLookups {
  const uncached = lookups(trx, caller)
  const access = once(() => uncached.defaultAccess())
  const views = once(async (schema: number) => {
    const rows = await trx.selectFrom('views').select('view_name').where('schema_id', '=', schema).execute()
    return new Set(rows.map(({ view_name }) => view_name))
  })
  return {
    schema: once(uncached.schema),
    writableSchema: once(uncached.writableSchema),
    hasView: async (schema, name) => (await views(schema)).has(name),
    defaultAccess: () => access(''),
    variables: once(uncached.variables),
  }
}

function once<Key, Answer>(ask: (key: Key) => Promise<Answer>): (key: Key) => Promise<Answer> {
  const known = new Map<Key, Promise<Answer>>()
  return (key) => {
    const answer = known.get(key) ?? ask(key)
    known.set(key, answer)
    return answer
  }
}

/**
 * Adds the type to a body without one: that of the pipeline that it replaces, or else the only type that its fields fit. Throws a problem
 * if they fit no type or several.
 */
export async function typedBody(
  sent: SentDataPipelineBody,
  storedType?: () => Promise<string | undefined>,
): Promise<DataPipelineBody> {
  if (hasType(sent)) return sent
  const checked = checkPipelineBody((await storedType?.()) ?? onlyTypeOf(sent), sent)
  if ('violations' in checked) throw problems.violated(checked)
  return checked.value
}

const hasType = (sent: SentDataPipelineBody): sent is DataPipelineBody => (sent.type ?? undefined) !== undefined

function onlyTypeOf(sent: SentDataPipelineBody): string {
  const [type, ...others] = pipelineTypesOf(sent)
  if (type === undefined)
    throw problems.malformed([{ pointer: '/type', detail: 'is required: the other fields fit no type of pipeline' }])
  if (others.length > 0)
    throw problems.refused('/type', `The fields fit several types. Set one: ${[type, ...others].join(', ')}.`)
  return type
}
