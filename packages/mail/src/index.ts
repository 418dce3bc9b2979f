export * from './email-content.ts'
export * from './settings.ts'
export * from './smtp.ts'
