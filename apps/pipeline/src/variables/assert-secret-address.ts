import type { SecretAddress } from '../secrets/encrypted-secrets.ts'
import { namesVariables, replaceVariables, findVariablesInSettings } from './replace-variables.ts'
import { VariableProblem } from './variable-problem.ts'

/**
 * Returns the address to store with new secrets. Returns undefined for an address without variables, because it can be
 * compared as written.
 */
export async function createSecretAddress(
  address: unknown,
  variables: () => Promise<ReadonlyMap<string, string>>,
): Promise<SecretAddress | undefined> {
  if (!namesVariables(address)) return undefined
  return { address, was: resolveAddress(address, await variables()) }
}

/**
 * Returns whether the variables in two addresses have the same values. False if a variable was missing and was created
 * later.
 */
export const isSameAddress = ({ was }: SecretAddress, now: SecretAddress | undefined): boolean =>
  JSON.stringify(was) === JSON.stringify(now?.was)

/** Throws `VariableProblem` if the address changed because a variable changed or no longer exists. */
export function assertAddressUnchanged({ address, was }: SecretAddress, variables: ReadonlyMap<string, string>): void {
  const now = replaceVariables(address, variables)
  if (isSameAddress({ address, was }, { address, was: now })) return
  const names = [...findVariablesInSettings(address)].map((name) => `\${${name.slice(0, 100)}}`).join(', ')
  throw new VariableProblem(
    'SECRET_FOR_OTHER_ADDRESS',
    `No request was sent, because ${names} changed the address for which the password or token was stored. If the new address is right, save the pipeline with its password or token; if not, correct the variable.`,
  )
}

function resolveAddress(address: unknown, variables: ReadonlyMap<string, string>): unknown {
  try {
    return replaceVariables(address, variables)
  } catch (error) {
    if (error instanceof VariableProblem) return null
    throw error
  }
}
