import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { searchGuide } from '@sluice/contracts'
import type { ServiceInfo } from '@sluice/http-server'

const manifest: { version: string } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'))

const schemas = { name: 'Schemas', description: 'Where tables are in the warehouse, and with whom they are shared.' }

const nouns: ServiceInfo['nouns'] = {
  schemas,
  tables: schemas,
  views: { name: 'Views', description: 'Queries that the warehouse keeps under a name, some with their rows.' },
  settings: { name: 'Settings', description: 'Choices of an organisation, such as who hears of failed runs.' },
  variables: {
    name: 'Variables',
    description: 'Named values for checks and sources, written as `${name}`. Secured ones are never shown again.',
  },
  dataPipelines: {
    name: 'Data pipelines',
    description:
      'What is loaded from where and when, connections to sources, its runs with their logs, and what came of them.',
  },
  publicDatasets: {
    name: 'Public datasets',
    description: 'Tables that are uploaded once, for data pipelines of every organisation.',
  },
  dataQualityChecks: {
    name: 'Data quality checks',
    description: 'Queries whose rows are violations.',
  },
  dataQualityCheckGroups: {
    name: 'Data quality check groups',
    description:
      'Checks that are run together, at once or from the queue, and that rows may have to pass before they are published.',
  },
  destinations: {
    name: 'Destinations',
    description: 'Systems that the rows of a view are pushed to, when, and what they refused.',
  },
  workflows: {
    name: 'Workflows',
    description: 'Steps that load, refresh, check and push in an order, on a schedule, and their runs.',
  },
  deletedClients: {
    name: 'Deleted clients',
    description: 'What is still held of organisations that were deleted, until it is erased.',
  },
  public: { name: 'Open data', description: 'Data that is open without a token.' },
}

/** The title and the description in the OpenAPI document. */
export const info: ServiceInfo = {
  title: 'Sluice pipeline service',
  version: manifest.version,
  description: `Loads data from files, databases and systems into a warehouse, and reports on it.\n\n${searchGuide}`,
  nouns,
}
