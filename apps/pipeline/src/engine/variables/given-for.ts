import { namesVariables, replaceVariables, variablesInSettings } from './replace.ts'
import { VariableProblem } from './variable-problem.ts'

/**
 * Where secrets were meant to go, for an address that names variables: as it is written, and what that came to when the secrets were given.
 * Null where one of the variables was not there yet. Kept with the secrets, so that whoever changes a variable does not send them elsewhere.
 */
export interface GivenFor {
  address: unknown
  was: unknown
}

/** Undefined for an address that names no variable: that is compared as it is written. */
export async function givenForNow(
  address: unknown,
  variables: () => Promise<ReadonlyMap<string, string>>,
): Promise<GivenFor | undefined> {
  if (!namesVariables(address)) return undefined
  return { address, was: addressNow(address, await variables()) }
}

/** Whether the same secrets may go there. Not where a variable was missing and somebody has made it since: nobody meant that value. */
export const isSameAddress = ({ was }: GivenFor, now: GivenFor | undefined): boolean =>
  JSON.stringify(was) === JSON.stringify(now?.was)

/** Throws `VariableProblem` where a variable has moved the address, or is not there. */
export function demandSameAddress({ address, was }: GivenFor, variables: ReadonlyMap<string, string>): void {
  const now = replaceVariables(address, variables)
  if (isSameAddress({ address, was }, { address, was: now })) return
  const names = [...variablesInSettings(address)].map((name) => `\${${name.slice(0, 100)}}`).join(', ')
  throw new VariableProblem(
    'SECRET_FOR_OTHER_ADDRESS',
    `The stored password or token was given for another address than ${names} leads to now, so that nothing was asked there. If the new address is right, save the pipeline again and type its password or token anew; if not, mend the variable.`,
  )
}

function addressNow(address: unknown, variables: ReadonlyMap<string, string>): unknown {
  try {
    return replaceVariables(address, variables)
  } catch (error) {
    if (error instanceof VariableProblem) return null
    throw error
  }
}
