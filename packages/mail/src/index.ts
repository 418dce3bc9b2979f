export * from './settings.ts'
export * from './smtp.ts'
