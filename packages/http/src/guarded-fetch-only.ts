/** Entry point for processes without an HTTP server: it does not load express and jose. */
export { type GuardedFetch, guardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'
export { OutgoingProblem, type OutgoingCode } from './guarded-fetch-problem.ts'
