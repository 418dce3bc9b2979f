import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { searchGuide } from '@sluice/contracts'

const manifest: { version: string } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'))

/** How the service introduces itself in its OpenAPI document. */
export const info = {
  title: 'Sluice pipeline service',
  version: manifest.version,
  description: `Loads data from files, databases and systems into a warehouse, and tells how that went.\n\n${searchGuide}`,
}
