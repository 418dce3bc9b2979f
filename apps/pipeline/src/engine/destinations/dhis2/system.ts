import { releaseOf } from '../../dhis2/requests.ts'
import { DestinationProblem } from '../destination-problem.ts'
import type { Dhis2 } from './ask.ts'

/** What answers at an address, and as whom it is asked. */
export interface System {
  /** As it calls itself: `2.41.3`. */
  version: string
  /** The part of it that counts: 41; 0 where it cannot be told. */
  release: number
  username: string
  /** Undefined where it does not say. */
  authorities: ReadonlySet<string> | undefined
}

/** Asks who is signed in, and what it is that answers. Throws `DestinationProblem`; OTHER_PROTOCOL where it is no DHIS2. */
export async function systemOf(dhis2: Dhis2, signal: AbortSignal): Promise<System> {
  const me = fields(await dhis2.get('me', { fields: 'id,username,authorities' }, signal))
  const info = fields(await dhis2.get('system/info', {}, signal))
  const { version } = info
  if (typeof me['id'] !== 'string' || typeof version !== 'string')
    throw new DestinationProblem(
      'OTHER_PROTOCOL',
      'What answers at this address is not DHIS2: it does not say who is signed in and what its version is. Check the address.',
    )
  const authorities = Array.isArray(me['authorities']) ? new Set(me['authorities'].map(String)) : undefined
  return {
    version: dhis2.words(version).slice(0, 50),
    release: releaseOf(version),
    username: dhis2.words(typeof me['username'] === 'string' ? me['username'] : '').slice(0, 255),
    authorities,
  }
}

export const mayImport = ({ authorities }: System): boolean =>
  !authorities || authorities.has('ALL') || authorities.has('F_DATAVALUE_ADD')

const fields = (answer: unknown): Readonly<Record<string, unknown>> =>
  typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {}
