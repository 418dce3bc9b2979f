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

/** `true` if each type accepts every value of the other, otherwise both types. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : [A, B]) : [A, B]

type PartsOf<Signature> =
  Signature extends OperationSignature<infer Path, infer Query, infer Body, infer Result>
    ? WithAnyProperty<{ path: Path; query: Query; body: Body; result: Result }>
    : never
type GeneratedPartsOf<Generated> =
  Generated extends Operation<infer Path, infer Query, infer Body, infer Result>
    ? WithAnyProperty<{ path: Path; query: Query; body: Body; result: Result }>
    : never

/** The operations of a noun whose types differ. */
type DifferencesOf<Generated, Contracts> = {
  [Verb in keyof Generated & keyof Contracts as Same<
    GeneratedPartsOf<Generated[Verb]>,
    PartsOf<Contracts[Verb]>
  > extends true
    ? never
    : Verb]: Same<GeneratedPartsOf<Generated[Verb]>, PartsOf<Contracts[Verb]>>
}
type Differences<Generated, Contracts> = {
  [Noun in keyof Generated & keyof Contracts as {} extends DifferencesOf<Generated[Noun], Contracts[Noun]>
    ? never
    : Noun]: DifferencesOf<Generated[Noun], Contracts[Noun]>
}

type NoneOf<Found> = {} extends Found ? true : Found

// The type check fails here if a generated type differs from the one that the contract infers, and shows both.
export const identityTypesAreSame: NoneOf<Differences<typeof identity, typeof identityOperations>> = true
export const pipelineTypesAreSame: NoneOf<
  Differences<typeof pipeline & { public: typeof pipeline.publicData }, typeof pipelineOperations>
> = true
