import { hash } from 'node:crypto'

/** A digest of the definition of the source: type and settings such as query, sheet and options. Secrets are left out. */
export const definitionOf = ({ type, settings }: { type: string; settings: unknown }): string =>
  hash('sha256', JSON.stringify([type, settings])).slice(0, 32)
