import { Type } from 'typebox'
import { closed, contract, type TypeOf } from './contract.ts'
import { bodyOf, needed, Uid } from './named.ts'

export const accessLevels = ['READ', 'READ_WRITE'] as const
export const publicAccessLevels = ['NONE', 'READ', 'READ_WRITE'] as const
export const sharingLevels = ['PRIVATE', 'SHARED', 'PUBLIC'] as const

export const AccessObject = contract(
  'AccessObject',
  Type.Object({ id: Uid, access: Type.Enum([...accessLevels]) }, closed),
)
export type AccessObject = TypeOf<typeof AccessObject>

const given = Type.Array(
  contract(
    'AccessObjectBody',
    Type.Object(
      {
        id: needed(Uid, 'it names who is given access'),
        access: Type.Optional(Type.Enum([...accessLevels], { description: 'READ when absent.' })),
      },
      closed,
    ),
  ),
  { uniqueItems: true, maxItems: 1000 },
)

const grants = Type.Array(AccessObject, { uniqueItems: true, maxItems: 1000 })

const asked = {
  publicAccess: Type.Optional(Type.Enum([...publicAccessLevels])),
}

const answered = { accessLevel: Type.Enum([...sharingLevels]), hasPublicAccess: Type.Boolean() }

/** What the access operations take: both lists are required. */
export const AccessBody = contract(
  'AccessBody',
  bodyOf({ ...asked, userAccess: given, userGroupAccess: given }, answered),
)
export type AccessBody = TypeOf<typeof AccessBody>

/** Access inside an object's own body: whatever is absent keeps its value. */
export const AccessPart = contract(
  'AccessPart',
  bodyOf({ ...asked, userAccess: Type.Optional(given), userGroupAccess: Type.Optional(given) }, answered),
)
export type AccessPart = TypeOf<typeof AccessPart>

export const Access = contract(
  'Access',
  Type.Object(
    {
      publicAccess: Type.Enum([...publicAccessLevels]),
      userAccess: grants,
      userGroupAccess: grants,
      ...answered,
    },
    closed,
  ),
)
export type Access = TypeOf<typeof Access>
