import type { KeyRing } from '@sluice/database'

interface Row {
  uid: string
  secured: boolean
  value: string | null
  sealed_value: string | null
}

const purpose = (uid: string) => `variables.sealed_value:${uid}`

/** In the clear, or opened. Throws `SealProblem` when the key is not in the ring. */
export const openVariableValue = ({ uid, secured, value, sealed_value }: Row, ring: KeyRing): string =>
  secured ? ring.open(sealed_value!, purpose(uid)) : value!

export const sealVariableValue = (uid: string, value: string, ring: KeyRing): string => ring.seal(value, purpose(uid))
