import { RemoteProblem, ServiceUnavailable } from '@sluice/client'
import { UserError } from '../user-error.ts'
import type { Installation } from './installation.ts'

const passwordAdvice: Record<Installation['passwordFrom'], string> = {
  SLUICE_ADMIN_PASSWORD: 'Correct SLUICE_ADMIN_USERNAME and SLUICE_ADMIN_PASSWORD',
  'secrets.json': 'The password that "npm start" generated was changed; set SLUICE_ADMIN_PASSWORD to the current one',
  terminal: 'Try again',
}

/** Turns a failed sign-in into a message that says what to do. Returns unexpected errors unchanged. */
export function explainSignIn(error: unknown, { identityUrl, username, passwordFrom }: Installation): unknown {
  if (error instanceof RemoteProblem && (error.status === 401 || error.status === 400))
    return new UserError(`${username} cannot sign in with this password. ${passwordAdvice[passwordFrom]}.`, {
      cause: error,
    })
  if (error instanceof RemoteProblem && error.status === 404)
    return new UserError(`${identityUrl} is not an identity service of Sluice. Correct IDENTITY_URL.`, { cause: error })
  return explainError(error, 'identity service', identityUrl)
}

/** Turns a failure of a service into a message that says what to do. Returns unexpected errors unchanged. */
export function explainError(error: unknown, part: string, address: string): unknown {
  if (error instanceof RemoteProblem) return new UserError(describeProblem(error), { cause: error })
  if (!(error instanceof ServiceUnavailable)) return error
  return new UserError(`The ${part} at ${address} ${reasons[error.reason](error)}`, { cause: error })
}

const startFirst = 'Run "npm start" first, in another terminal, or correct IDENTITY_URL and PIPELINE_URL.'

const reasons: Record<ServiceUnavailable['reason'], (error: ServiceUnavailable) => string> = {
  unreachable: ({ message }) =>
    `does not respond (${message.replaceAll(/^.*cannot be reached: |\.$/g, '')}). ${startFirst}`,
  'timed-out': () => 'did not respond in time. Check its log, or try again when the machine is less busy.',
  overloaded: ({ problem, message }) => `is overloaded: ${problem?.detail ?? message}`,
  'malformed-answer': ({ message }) => `gave a response that this demo does not understand: ${message}`,
}

function describeProblem({ status, message, errors, requestId }: RemoteProblem): string {
  const details = errors.map(({ pointer, detail }) => `${pointer} ${detail}`).filter((text) => !message.includes(text))
  const text = [message, ...details.slice(0, 3)].join(' ')
  return status >= 500 ? `${text} (request ${requestId})` : text
}
