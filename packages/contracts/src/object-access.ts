import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from './contract.ts'
import { bodyOf, requiredBecause, Uid } from './field-types.ts'

const accessLevels = ['READ', 'READ_WRITE'] as const
const publicAccessLevels = ['NONE', 'READ', 'READ_WRITE'] as const
const sharingLevels = ['PRIVATE', 'SHARED', 'PUBLIC'] as const

export const AccessObject = defineContract(
  'AccessObject',
  Type.Object({ id: Uid, access: Type.Enum([...accessLevels]) }, noUnknownFields),
)
export type AccessObject = TypeOf<typeof AccessObject>

const grantsBody = Type.Array(
  defineContract(
    'AccessObjectBody',
    Type.Object(
      {
        id: requiredBecause(Uid, 'it identifies the user or group'),
        access: Type.Optional(Type.Enum([...accessLevels], { description: 'Default: READ.' })),
      },
      noUnknownFields,
    ),
  ),
  { uniqueItems: true, maxItems: 1000 },
)

const accessGrants = Type.Array(AccessObject, { uniqueItems: true, maxItems: 1000 })

const publicAccessField = {
  publicAccess: Type.Optional(Type.Enum([...publicAccessLevels])),
}

const computedFields = { accessLevel: Type.Enum([...sharingLevels]), hasPublicAccess: Type.Boolean() }

/**
 * The request body of operations that share an object. It requires both lists, because they replace the stored ones.
 */
export const AccessBody = defineContract(
  'AccessBody',
  bodyOf({ ...publicAccessField, userAccess: grantsBody, userGroupAccess: grantsBody }, computedFields),
)
export type AccessBody = TypeOf<typeof AccessBody>

/** The access settings in an object's body. Absent fields keep their stored values. */
export const AccessPart = defineContract(
  'AccessPart',
  bodyOf(
    { ...publicAccessField, userAccess: Type.Optional(grantsBody), userGroupAccess: Type.Optional(grantsBody) },
    computedFields,
  ),
)
export type AccessPart = TypeOf<typeof AccessPart>

export const ObjectAccess = defineContract(
  'Access',
  Type.Object(
    {
      publicAccess: Type.Enum([...publicAccessLevels]),
      userAccess: accessGrants,
      userGroupAccess: accessGrants,
      ...computedFields,
    },
    noUnknownFields,
  ),
)
export type ObjectAccess = TypeOf<typeof ObjectAccess>
