/** The guarded client for a process without a door: by itself, since the door brings express and jose with it. */
export { type GuardedFetch, guardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'
export { OutgoingProblem, type OutgoingCode } from './guarded-fetch-problem.ts'
