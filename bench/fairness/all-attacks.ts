import { type Attack, attacks } from './attacks.ts'
import { dataOutAttacks } from './data-out.ts'

export const allAttacks: Record<string, Attack> = { ...attacks, ...dataOutAttacks }
