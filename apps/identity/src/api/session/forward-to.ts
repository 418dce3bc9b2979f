import type { Session, User } from '@sluice/contracts'

type Target = NonNullable<Session['forwardTo']>

/** In the order in which somebody without a wish, or whose wish cannot be met, is sent. */
const doors: { startPage: User['startPage']; target: Target; open(user: User): boolean }[] = [
  { startPage: 'MANAGER', target: 'SERVICE_MANAGER', open: (user) => user.hasManagerAccess },
  { startPage: 'INTEGRATION', target: 'SERVICE_INTEGRATION', open: (user) => user.hasRouteAccess },
  { startPage: 'DATA_PIPELINE', target: 'SERVICE_DATA_PIPELINE', open: (user) => user.hasDataPipelineAccess },
]

/** Where a user goes after signing in. Undefined for whoever can reach nothing. */
export function forwardTo(user: User): Target | undefined {
  const open = doors.filter((door) => door.open(user))
  return (open.find(({ startPage }) => startPage === user.startPage) ?? open[0])?.target
}
