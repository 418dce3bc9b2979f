/**
 * What a process without a door of its own needs of this package, such as a worker: by itself, since the door brings
 * express, jose and undici with it, 20 MB of them.
 */
export { outgoingAllowed, type OutgoingAllowed } from './guarded-fetch-addresses.ts'
export { hostNames } from './hosts.ts'
export * from './outgoing-addresses.ts'
