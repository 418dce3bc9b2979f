import { expect, it } from '@jest/globals'
import { identityOperations, type OperationSignature, pipelineOperations } from '@sluice/contracts'
import * as identity from '../src/generated/identity.ts'
import * as pipeline from '../src/generated/pipeline.ts'
import type { Operation } from '../src/index.ts'

type Nouns = Record<string, Record<string, OperationSignature>>

/** What a client needs to know of the operations that users may call. */
const wanted = (nouns: Nouns) =>
  Object.entries(nouns).flatMap(([noun, operations]) =>
    Object.entries(operations)
      .filter(([, { guard }]) => guard !== 'service')
      .map(([verb, { method, path, effect, upload, events }]) => ({
        noun,
        verb,
        method,
        path,
        effect,
        upload,
        events,
      })),
  )

const generated = (module: object) =>
  Object.entries(module as Record<string, Record<string, Operation>>).flatMap(([noun, operations]) =>
    Object.entries(operations).map(([verb, { method, path, effect, upload, events }]) => ({
      noun: noun === 'publicData' ? 'public' : noun,
      verb,
      method,
      path,
      effect: effect ?? (method === 'get' ? 'read' : 'write'),
      upload,
      events,
    })),
  )

const byName = (operations: { noun: string; verb: string }[]) =>
  Object.fromEntries(operations.map((operation) => [`${operation.noun}.${operation.verb}`, operation]))

it.each([
  ['identity', identity, identityOperations],
  ['pipeline', pipeline, pipelineOperations],
])('the %s module has every operation for users, with its address', (_service, module, nouns) => {
  expect(byName(generated(module))).toEqual(byName(wanted(nouns as Nouns)))
})

/** Replaces the type of `property` in translations, which contracts infer as any text. */
type WithAnyProperty<T> = T extends readonly (infer Item)[]
  ? WithAnyProperty<Item>[]
  : T extends object
    ? { [K in keyof T]: K extends 'property' ? string : WithAnyProperty<T[K]> }
    : T

/** Whether each type accepts every value of the other. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

type PartsOf<Signature> =
  Signature extends OperationSignature<infer Path, infer Query, infer Body, infer Result>
    ? WithAnyProperty<{ path: Path; query: Query; body: Body; result: Result }>
    : never
type GeneratedPartsOf<Generated> =
  Generated extends Operation<infer Path, infer Query, infer Body, infer Result>
    ? WithAnyProperty<{ path: Path; query: Query; body: Body; result: Result }>
    : never

/** The names of the operations whose types differ. */
type Differing<Generated, Contracts> = {
  [Noun in keyof Generated & keyof Contracts & string]: {
    [Verb in keyof Generated[Noun] & keyof Contracts[Noun] & string]: Same<
      GeneratedPartsOf<Generated[Noun][Verb]>,
      PartsOf<Contracts[Noun][Verb]>
    > extends true
      ? never
      : `${Noun}.${Verb}`
  }[keyof Generated[Noun] & keyof Contracts[Noun] & string]
}[keyof Generated & keyof Contracts & string]

type NoneOf<Names> = [Names] extends [never] ? true : Names

// The type check fails here if a generated type is not that of its contract. `Differing` has the names.
export const identityTypesAreSame: NoneOf<Differing<typeof identity, typeof identityOperations>> = true
// Contracts of configurations are computed from those of all bodies, and only the generated types have their fields.
export const pipelineTypesAreSame: NoneOf<
  Exclude<
    Differing<typeof pipeline & { public: typeof pipeline.publicData }, typeof pipelineOperations>,
    `configuration.${string}`
  >
> = true
