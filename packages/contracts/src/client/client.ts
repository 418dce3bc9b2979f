/** Entry point of the service client, so that a process without a server does not load every contract. */
export type { ResultPage } from './responses.ts'
export type { CallInput, UploadInput } from './service-client.ts'
export * from './service-client.ts'
export type { UploadBody } from './http-exchange.ts'
export { RemoteProblem, ServiceUnavailable, type UnavailableReason } from './errors.ts'
export * from './lookup-cache.ts'
export type { Circuit, ResilienceOptions } from './resilience.ts'
export { lookups } from '../identity/operations/lookups.ts'
