import { RemoteProblem, ServiceUnavailable } from '@sluice/client'
import { UserError } from '../user-error.ts'
import type { Installation } from './installation.ts'

const passwords: Record<Installation['passwordFrom'], string> = {
  SLUICE_ADMIN_PASSWORD: 'correct SLUICE_ADMIN_USERNAME and SLUICE_ADMIN_PASSWORD',
  'secrets.json':
    'the password that "npm start" made is not theirs any more: set SLUICE_ADMIN_PASSWORD to the one in use',
  terminal: 'try again',
}

/** Turns a failed sign-in into a sentence that says what to do. Returns unexpected errors unchanged. */
export function explainSignIn(error: unknown, { identityUrl, username, passwordFrom }: Installation): unknown {
  if (error instanceof RemoteProblem && (error.status === 401 || error.status === 400))
    return new UserError(`${username} may not sign in with this password: ${passwords[passwordFrom]}.`, { cause: error })
  if (error instanceof RemoteProblem && error.status === 404)
    return new UserError(`${identityUrl} is not an identity service of Sluice: correct IDENTITY_URL.`, { cause: error })
  return explain(error, 'identity service', identityUrl)
}

/** Turns a failure of a service into a sentence that says what to do. Returns unexpected errors unchanged. */
export function explain(error: unknown, part: string, address: string): unknown {
  if (error instanceof RemoteProblem) return new UserError(refusalOf(error), { cause: error })
  if (!(error instanceof ServiceUnavailable)) return error
  return new UserError(`The ${part} at ${address} ${troubles[error.reason](error)}`, { cause: error })
}

const startFirst = 'run "npm start" first, in another terminal, or correct IDENTITY_URL and PIPELINE_URL.'

const troubles: Record<ServiceUnavailable['reason'], (error: ServiceUnavailable) => string> = {
  unreachable: ({ message }) =>
    `does not answer (${message.replaceAll(/^.*cannot be reached: |\.$/g, '')}): ${startFirst}`,
  'timed-out': () => 'takes too long to answer: look at its log, or try again when the machine is less busy.',
  overloaded: ({ problem, message }) => `cannot do this just now: ${problem?.detail ?? message}`,
  'malformed-answer': ({ message }) => `is not the Sluice that this demo knows: ${message}`,
}

function refusalOf({ status, message, errors, requestId }: RemoteProblem): string {
  const details = errors.map(({ pointer, detail }) => `${pointer} ${detail}`).filter((text) => !message.includes(text))
  const said = [message, ...details.slice(0, 3)].join(' ')
  return status >= 500 ? `${said} (request ${requestId})` : said
}
