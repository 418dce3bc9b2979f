export * from './letter.ts'
export * from './settings.ts'
export * from './smtp.ts'
