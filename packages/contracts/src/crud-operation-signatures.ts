import { type Static, type TObject, type TProperties, Type } from 'typebox'
import { AccessBody } from './object-access.ts'
import { type Contract, defineContract, listOf, noUnknownFields } from './contract.ts'
import { SingleLineText, Uid } from './field-types.ts'
import { defineSignature } from './operation-signature.ts'
import type { Role } from './roles.ts'
import { ListQuery, SearchRequest } from './search.ts'

interface ResourceDefinition<Path extends string, R, B> {
  /** The singular noun in summaries, such as `data pipeline`. */
  noun: string
  /** The plural noun in operation ids, such as `dataPipelines`. */
  plural: string
  path: Path
  see: readonly Role[]
  manage: readonly Role[]
  resource: Contract<R>
  body: Contract<B>
}

/** Returns the six operations of a resource: list, search, create, read, update and delete. */
export function defineRecordSignatures<const Path extends string, R, B>({
  noun,
  plural,
  path,
  see,
  manage,
  resource,
  body,
}: ResourceDefinition<Path, R, B>) {
  const recordPath = `${path}/:uid` as const
  return {
    list: defineSignature({
      id: `${plural}.list`,
      summary: `List ${noun}s`,
      method: 'get',
      path,
      guard: see,
      query: ListQuery,
      response: listOf(resource),
      paged: true,
    }),
    search: defineSignature({
      id: `${plural}.search`,
      summary: `Search ${noun}s`,
      method: 'post',
      path: `${path}/search` as const,
      guard: see,
      effect: 'read',
      body: SearchRequest,
      response: listOf(resource),
      paged: true,
    }),
    create: defineSignature({
      id: `${plural}.create`,
      summary: `Create a ${noun}`,
      method: 'post',
      path,
      guard: manage,
      status: 201,
      body,
      response: resource,
      versioned: true,
    }),
    read: defineSignature({
      id: `${plural}.read`,
      summary: `Read a ${noun}`,
      method: 'get',
      path: recordPath,
      guard: see,
      response: resource,
      versioned: true,
    }),
    update: defineSignature({
      id: `${plural}.update`,
      summary: `Replace a ${noun}`,
      method: 'put',
      path: recordPath,
      guard: manage,
      body,
      response: resource,
      versioned: true,
    }),
    delete: defineSignature({
      id: `${plural}.delete`,
      summary: `Delete a ${noun}`,
      method: 'delete',
      path: recordPath,
      guard: manage,
      versioned: true,
    }),
  }
}

/** Returns the operation that sets which users may see or edit a record. */
export function defineSharingSignature<const Path extends string, R, B>({
  noun,
  plural,
  path,
  manage,
  resource,
}: ResourceDefinition<Path, R, B>) {
  return {
    share: defineSignature({
      id: `${plural}.share`,
      summary: `Share a ${noun}`,
      method: 'put',
      path: `${path}/:uid/access` as const,
      guard: manage,
      body: AccessBody,
      response: listOf(resource),
      versioned: true,
    }),
  }
}

/** The maximum number of objects that one request saves. */
export const maxSavedAtOnce = 1_000

const savedFields = { id: Uid, name: SingleLineText, result: Type.Enum(['CREATED', 'UPDATED']) }

interface SavedObject {
  id: string
  name: string
  result: 'CREATED' | 'UPDATED'
}

interface BulkResource<Plural extends string, Path extends string, B> {
  noun: string
  plural: Plural
  path: Path
  manage: readonly Role[]
  body: Contract<B>
}

/**
 * Returns the operation that saves several objects of one type, such as views, which are identified by name. Body and
 * response contain one list, in the field `plural`. `more` are additional fields of each object in the response. `note`
 * is appended to the operation's description.
 */
export function defineBulkSignature<
  const Plural extends string,
  const Path extends string,
  B,
  More extends TProperties = {},
>(
  { noun, plural, path, manage, body }: BulkResource<Plural, Path, B>,
  { more = {} as More, note = '' }: { more?: More; note?: string } = {},
) {
  const pluralTitle = plural[0]!.toUpperCase() + plural.slice(1)
  const singularTitle = pluralTitle.slice(0, -1)
  const savedObject = Type.Object({ ...savedFields, ...more }, { ...noUnknownFields, title: `Saved${singularTitle}` })
  const defineListContract = (title: string, item: object, minItems: number) =>
    defineContract(
      title,
      Type.Object(
        { [plural]: Type.Array(Type.Unsafe<unknown>(item), { minItems, maxItems: maxSavedAtOnce }) },
        noUnknownFields,
      ),
    ) as object
  return {
    saveMany: defineSignature({
      id: `${plural}.saveMany`,
      summary: `Save several ${noun}s`,
      description: `Saves all ${noun}s or none. Each one replaces the ${noun} with the same name, or is created if no ${noun} has this name. \`id\` and \`client\` are ignored, so that you can save an export in another organisation. Violations point to an object by its position in the list.${note}`,
      method: 'post',
      path: `${path}/bulk` as const,
      guard: manage,
      body: defineListContract(`${pluralTitle}Body`, body, 1) as Contract<Record<Plural, B[]>>,
      response: defineListContract(`Saved${pluralTitle}`, savedObject, 0) as Contract<
        Record<Plural, (SavedObject & Static<TObject<More>>)[]>
      >,
    }),
  }
}
