export * from './data-type.ts'
