import { type TProperties, Type } from 'typebox'
import { type Contract, defineContract, noUnknownFields } from '../contract.ts'
import { SingleLineText, Uid } from '../field-types.ts'
import { defineSignature } from '../operation-signature.ts'
import type { Role } from '../roles.ts'

/** The maximum number of objects that one request saves. */
export const mostAtOnce = 1_000

const savedFields = { id: Uid, name: SingleLineText, result: Type.Enum(['CREATED', 'UPDATED']) }

interface SavedObject {
  id: string
  name: string
  result: 'CREATED' | 'UPDATED'
  /** Only in the response for data pipelines. */
  type?: string
  /** Only in the response for views: whether a run still has to create or change the view in the warehouse. */
  pending?: boolean
}

interface BulkResource<Plural extends string, Path extends string, B> {
  noun: string
  plural: Plural
  path: Path
  manage: readonly Role[]
  body: Contract<B>
}

/**
 * Returns the operation that saves several objects of a kind by name. Body and response have one list, called `plural`. `more`
 * are further fields of each object in the response, and `note` is added to the description.
 */
export function bulkSignature<const Plural extends string, const Path extends string, B>(
  { noun, plural, path, manage, body }: BulkResource<Plural, Path, B>,
  { more = {}, note = '' }: { more?: TProperties; note?: string } = {},
) {
  const title = plural[0]!.toUpperCase() + plural.slice(1)
  const saved = Type.Object({ ...savedFields, ...more }, { ...noUnknownFields, title: `Saved${title.slice(0, -1)}` })
  const listIn = (name: string, items: object, minItems: number) =>
    defineContract(
      name,
      Type.Object(
        { [plural]: Type.Array(Type.Unsafe<unknown>(items), { minItems, maxItems: mostAtOnce }) },
        noUnknownFields,
      ),
    ) as object
  return {
    saveMany: defineSignature({
      id: `${plural}.saveMany`,
      summary: `Save several ${noun}s`,
      description: `Saves all ${noun}s or none. Each one replaces the ${noun} with the same name, or is created if no ${noun} has this name. \`id\` and \`client\` are ignored, so that you can save an export in another organisation. The pointers of violations refer to the list.${note}`,
      method: 'post',
      path: `${path}/bulk` as const,
      guard: manage,
      body: listIn(`${title}Body`, body, 1) as Contract<Record<Plural, B[]>>,
      response: listIn(`Saved${title}`, saved, 0) as Contract<Record<Plural, SavedObject[]>>,
    }),
  }
}
