import type { Access, AccessBody, AccessObject, AccessPart } from '@sluice/contracts'

interface Shared {
  public_access: Access['publicAccess']
  user_access: AccessObject[]
  user_group_access: AccessObject[]
}

/** How a record is shared, as its response says it. */
export function accessOf({ public_access, user_access, user_group_access }: Shared): Access {
  const shared = user_access.length > 0 || user_group_access.length > 0
  const hasPublicAccess = public_access !== 'NONE'
  return {
    publicAccess: public_access,
    userAccess: user_access,
    userGroupAccess: user_group_access,
    accessLevel: hasPublicAccess ? 'PUBLIC' : shared ? 'SHARED' : 'PRIVATE',
    hasPublicAccess,
  }
}

/** The columns of whatever the body says about access; what it leaves out keeps its value. */
export function accessColumns(access: AccessBody | AccessPart | undefined): Record<string, unknown> {
  return {
    ...(access?.publicAccess && { public_access: access.publicAccess }),
    ...(access?.userAccess && { user_access: grantsOf(access.userAccess) }),
    ...(access?.userGroupAccess && { user_group_access: grantsOf(access.userGroupAccess) }),
  }
}

/** Ids in lower case, as they are compared; of two grants for the same id the larger one holds. */
function grantsOf(grants: readonly { id: string; access?: AccessObject['access'] }[]): string {
  const levels = new Map<string, AccessObject['access']>()
  for (const { id, access = 'READ' } of grants) {
    const uid = id.toLowerCase()
    if (levels.get(uid) !== 'READ_WRITE') levels.set(uid, access)
  }
  return JSON.stringify(Array.from(levels, ([id, access]) => ({ id, access })))
}
