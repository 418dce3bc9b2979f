/** Asking a service: a door of its own, so that a process that only asks need not hold every contract in memory. */
export type { Page } from './answers.ts'
export type { CallInput, UploadInput } from './call-input.ts'
export * from './caller.ts'
export type { UploadBody } from './exchange.ts'
export { RemoteProblem, ServiceUnavailable, type UnavailableReason } from './failures.ts'
export * from './look-ups.ts'
export type { Circuit, Resilience } from './resilience.ts'
export { lookups } from '../identity/operations/lookups.ts'
