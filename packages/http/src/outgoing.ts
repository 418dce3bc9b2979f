/**
 * Entry point for processes without an HTTP server, such as workers: it does not load express, jose and undici, which take
 * 20 MB of memory.
 */
export { outgoingAllowed, type OutgoingAllowList } from './guarded-fetch-addresses.ts'
export { hostNames } from './hosts.ts'
export * from './outgoing-addresses.ts'
