import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { searchGuide } from '@sluice/contracts'

const manifest: { version: string } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'))

/** What the reference says of this service. */
export const info = {
  title: 'Sluice identity',
  version: manifest.version,
  description: `Clients, users and their roles, sign-in, and the tokens that both services take.\n\n${searchGuide}`,
}
