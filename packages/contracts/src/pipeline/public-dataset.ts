import { Type } from 'typebox'

/** Names a public dataset, for everybody and for ever. */
export const PublicDatasetKey = Type.String({
  minLength: 2,
  maxLength: 63,
  pattern: '^[a-z][a-z0-9_]*$',
  examples: ['world_population'],
})
