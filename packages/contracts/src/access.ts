import { Type } from 'typebox'
import { contract, type TypeOf } from './contract.ts'
import { Uid } from './named.ts'

export const accessLevels = ['READ', 'READ_WRITE'] as const
export const publicAccessLevels = ['NONE', 'READ', 'READ_WRITE'] as const
export const sharingLevels = ['PRIVATE', 'SHARED', 'PUBLIC'] as const

const response = { additionalProperties: false }

export const AccessObject = contract(
  'AccessObject',
  Type.Object({ id: Uid, access: Type.Enum([...accessLevels]) }, response),
)
export type AccessObject = TypeOf<typeof AccessObject>

const grants = Type.Array(AccessObject, { uniqueItems: true, maxItems: 1000 })

/** What the access operations take: both lists are required. */
export const AccessBody = contract(
  'AccessBody',
  Type.Object(
    {
      publicAccess: Type.Optional(Type.Enum([...publicAccessLevels])),
      userAccess: grants,
      userGroupAccess: grants,
      accessLevel: Type.Optional(Type.Unsafe<unknown>({ description: 'Accepted and ignored.' })),
      hasPublicAccess: Type.Optional(Type.Unsafe<unknown>({ description: 'Accepted and ignored.' })),
    },
    response,
  ),
)
export type AccessBody = TypeOf<typeof AccessBody>

/** Access inside an object's own body: whatever is absent keeps its value. */
export const AccessPart = contract(
  'AccessPart',
  Type.Object(
    {
      publicAccess: Type.Optional(Type.Enum([...publicAccessLevels])),
      userAccess: Type.Optional(grants),
      userGroupAccess: Type.Optional(grants),
      accessLevel: Type.Optional(Type.Unsafe<unknown>({ description: 'Accepted and ignored.' })),
      hasPublicAccess: Type.Optional(Type.Unsafe<unknown>({ description: 'Accepted and ignored.' })),
    },
    response,
  ),
)
export type AccessPart = TypeOf<typeof AccessPart>

export const Access = contract(
  'Access',
  Type.Object(
    {
      publicAccess: Type.Enum([...publicAccessLevels]),
      userAccess: grants,
      userGroupAccess: grants,
      accessLevel: Type.Enum([...sharingLevels]),
      hasPublicAccess: Type.Boolean(),
    },
    response,
  ),
)
export type Access = TypeOf<typeof Access>
