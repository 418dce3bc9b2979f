import type { Engine } from '../session.ts'
export const oracle: Engine = { name: 'Oracle', open: () => Promise.reject(new Error()), explain: () => undefined }
