import { basicAuthorization } from '../basic-authorization.ts'

/** Who asks a DHIS2: with a token, or with a username and a password. */
interface Credentials {
  username?: string | undefined
  password?: string | undefined
  authToken?: string | undefined
}

/** What is sent with every request. Undefined where there is nothing to sign in with. */
export function headersOf({ username, password, authToken }: Credentials): Record<string, string> | undefined {
  const authorization = authToken
    ? `ApiToken ${authToken}`
    : username && password
      ? basicAuthorization(username, password)
      : undefined
  // Without the second one DHIS2 leads to its login page, where an API is to say 401.
  return authorization ? { authorization, 'x-requested-with': 'XMLHttpRequest' } : undefined
}

export const nothingToSignInWith =
  'There is nothing to sign in to DHIS2 with: give a username and a password, or a token.'

/** The part of a version that counts, 41 of `2.41.3`; 0 where it cannot be told. */
export const releaseOf = (version: string): number => Number(/^(?:2\.)?(\d{2,3})\b/.exec(version)?.[1] ?? 0)
