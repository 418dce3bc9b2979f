import { AccessBody } from './object-access.ts'
import { listOf, type Contract } from './contract.ts'
import { defineSignature } from './operation-signature.ts'
import type { Role } from './roles.ts'
import { ListQuery, SearchRequest } from './search.ts'

interface ResourceDefinition<Path extends string, R, B> {
  /** Singular noun in summaries, such as `data pipeline`. */
  noun: string
  /** Plural noun in operation ids, such as `dataPipelines`. */
  plural: string
  path: Path
  see: readonly Role[]
  manage: readonly Role[]
  resource: Contract<R>
  body: Contract<B>
}

/** Returns the six operations that every resource has: list, search, create, read, update and delete. */
export function recordSignatures<const Path extends string, R, B>({
  noun,
  plural,
  path,
  see,
  manage,
  resource,
  body,
}: ResourceDefinition<Path, R, B>) {
  const one = `${path}/:uid` as const
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
      path: one,
      guard: see,
      response: resource,
      versioned: true,
    }),
    update: defineSignature({
      id: `${plural}.update`,
      summary: `Replace a ${noun}`,
      method: 'put',
      path: one,
      guard: manage,
      body,
      response: resource,
      versioned: true,
    }),
    delete: defineSignature({
      id: `${plural}.delete`,
      summary: `Delete a ${noun}`,
      method: 'delete',
      path: one,
      guard: manage,
      versioned: true,
    }),
  }
}

/** Returns the operation that sets which users may see or edit a record. */
export function sharingSignatures<const Path extends string, R, B>({
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
