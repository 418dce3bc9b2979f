import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { NonNegativeInteger, SingleLineText, Uid, WarehouseName } from '../field-types.ts'
import { defineSignature } from '../operation-signature.ts'
import type { Role } from '../roles.ts'
import { runnableKinds } from './run.ts'

/** The kinds of objects in a lineage graph. TABLE and EXTERNAL_VIEW are objects that Sluice did not create. */
export const lineageKinds = [
  ...runnableKinds,
  'DATA_QUALITY_CHECK',
  'PUBLIC_DATASET',
  'TABLE',
  'EXTERNAL_VIEW',
] as const

export const LineageObject = defineContract(
  'LineageObject',
  Type.Object(
    {
      kind: Type.Enum([...lineageKinds]),
      id: Type.Optional({ ...Uid, description: 'Absent for PUBLIC_DATASET, TABLE and EXTERNAL_VIEW.' }),
      name: SingleLineText,
      schema: Type.Optional({ ...WarehouseName, description: 'The schema of the table or view that is read.' }),
      table: Type.Optional({ ...WarehouseName, description: 'The table or view in the warehouse that is read.' }),
    },
    noUnknownFields,
  ),
)
export type LineageObject = TypeOf<typeof LineageObject>

export const Lineage = defineContract(
  'Lineage',
  Type.Object(
    {
      reads: Type.Array(LineageObject, {
        maxItems: 1000,
        description: 'The first 1,000 objects that this object reads, runs or contains.',
      }),
      readBy: Type.Array(LineageObject, {
        maxItems: 1000,
        description: 'The first 1,000 objects that read, run or contain this object and that the caller may see.',
      }),
      hiddenReaders: {
        ...NonNegativeInteger,
        description: 'The number of further objects in `readBy` that are not shared with the caller.',
      },
    },
    noUnknownFields,
  ),
)
export type Lineage = TypeOf<typeof Lineage>

interface LineageResource<Path extends string> {
  noun: string
  plural: string
  path: Path
  see: readonly Role[]
}

/** Returns the signature of the operation that lists the objects which an object reads, and those which read it. */
export function defineLineageSignature<const Path extends string>({ noun, plural, path, see }: LineageResource<Path>) {
  return {
    lineage: defineSignature({
      id: `${plural}.lineage`,
      summary: `List what the ${noun} reads, and what reads it`,
      description: `While other objects read the ${noun}, it cannot be deleted. Checks and transformations read the tables and views that their SQL names.`,
      method: 'get',
      path: `${path}/:uid/lineage` as const,
      guard: see,
      response: Lineage,
    }),
  }
}
