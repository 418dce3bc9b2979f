export { outgoingAllowed, type OutgoingAllowList } from './guarded-fetch-addresses.ts'
export { causesOf, type OutgoingCode, OutgoingProblem } from './guarded-fetch-problem.ts'
export * from './guarded-fetch.ts'
export * from './outgoing-addresses.ts'
