export { type FieldViolation, type ProblemDocument, RemoteProblem, ServiceUnavailable } from './service-errors.ts'
export { events, followRun, type EventOptions, type RunEvent, type ServerSentEvent } from './server-sent-events.ts'
export type { CallInput, CallOptions, Operation, UploadInput } from './operation.ts'
export { items, pages, type ListPage } from './iterate-pages.ts'
export {
  serviceClient,
  type ServiceClient,
  type ServiceResponse,
  type TokenSource,
  type RequestTransport,
} from './service-client.ts'
export {
  renewedToken,
  SecondFactorRequired,
  sessionFromTokens,
  signIn,
  type UserSession,
  type PasswordSignIn,
} from './session.ts'
export { upload, type UploadBody, type UploadOptions } from './upload.ts'
