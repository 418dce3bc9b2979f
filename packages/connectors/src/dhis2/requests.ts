import { basicAuthorization } from '../http-connector/http-session.ts'

/** Credentials of DHIS2: a token, or a username and a password. */
interface Dhis2Credentials {
  username?: string | undefined
  password?: string | undefined
  authToken?: string | undefined
}

/** Returns the headers of every request. Undefined without credentials. */
export function headersOf({ username, password, authToken }: Dhis2Credentials): Record<string, string> | undefined {
  const authorization = authToken
    ? `ApiToken ${authToken}`
    : username && password
      ? basicAuthorization(username, password)
      : undefined
  // Without the second header, DHIS2 redirects to its login page instead of a 401.
  return authorization ? { authorization, 'x-requested-with': 'XMLHttpRequest' } : undefined
}

export const nothingToSignInWith = 'The credentials for DHIS2 are missing: enter a username and a password, or a token.'

/** Returns the release of a version, such as 41 for `2.41.3`; 0 if it is unknown. */
export const releaseOf = (version: string): number => Number(/^(?:2\.)?(\d{2,3})\b/.exec(version)?.[1] ?? 0)
