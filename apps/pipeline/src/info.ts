import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { searchGuide } from '@sluice/contracts'
import type { ServiceInfo } from '@sluice/http'

const manifest: { version: string } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'))

const nouns: ServiceInfo['nouns'] = {
  schemas: { name: 'Schemas', description: 'Where tables are in the warehouse, and with whom they are shared.' },
  tables: { name: 'Schemas', description: 'Where tables are in the warehouse, and with whom they are shared.' },
  publicDatasets: {
    name: 'Public datasets',
    description: 'Tables that are uploaded once, for data pipelines of every organisation.',
  },
  views: { name: 'Views', description: 'Queries that the warehouse keeps under a name, some with their rows.' },
  public: { name: 'Open data', description: 'What is open to everybody, without a token.' },
  dataPipelines: { name: 'Data pipelines', description: 'What is loaded from where, its runs, and what came of them.' },
}

/** How the service introduces itself in its OpenAPI document. */
export const info: ServiceInfo = {
  title: 'Sluice pipeline service',
  version: manifest.version,
  description: `Loads data from files, databases and systems into a warehouse, and tells how that went.\n\n${searchGuide}`,
  nouns,
}
