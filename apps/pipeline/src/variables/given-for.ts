import type { SecretAddress } from '../secrets/sealed-secrets.ts'
import { namesVariables, replaceVariables, variablesInSettings } from './replace.ts'
import { VariableProblem } from './variable-problem.ts'

/** Returns undefined for an address without variables, which is compared as written. */
export async function createSecretAddress(
  address: unknown,
  variables: () => Promise<ReadonlyMap<string, string>>,
): Promise<SecretAddress | undefined> {
  if (!namesVariables(address)) return undefined
  return { address, was: resolveAddress(address, await variables()) }
}

/** Whether the secrets may be sent to the address. False if a missing variable was created later. */
export const isSameAddress = ({ was }: SecretAddress, now: SecretAddress | undefined): boolean =>
  JSON.stringify(was) === JSON.stringify(now?.was)

/** Throws `VariableProblem` if a variable changed the address, or does not exist. */
export function assertSecretAddressUnchanged(
  { address, was }: SecretAddress,
  variables: ReadonlyMap<string, string>,
): void {
  const now = replaceVariables(address, variables)
  if (isSameAddress({ address, was }, { address, was: now })) return
  const names = [...variablesInSettings(address)].map((name) => `\${${name.slice(0, 100)}}`).join(', ')
  throw new VariableProblem(
    'SECRET_FOR_OTHER_ADDRESS',
    `The stored password or token was entered for another address than the current one with ${names}, so no request was sent. If the new address is right, save the pipeline with its password or token; if not, correct the variable.`,
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
