import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { searchGuide } from '@sluice/contracts'
import type { ServiceInfo } from '@sluice/http-server'

const packageManifest: { version: string } = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'),
)

const schemasNoun = {
  name: 'Schemas',
  description: 'Namespaces of tables and views in the warehouse, with their access rights.',
}

const resourceNouns: ServiceInfo['nouns'] = {
  schemas: schemasNoun,
  tables: schemasNoun,
  catalogue: schemasNoun,
  queries: { name: 'Queries', description: 'SQL on all loaded data, its plans, and the result as rows or as a file.' },
  views: { name: 'Views', description: 'Saved queries in the warehouse. A materialised view also stores its rows.' },
  settings: {
    name: 'Settings',
    description: 'Settings of an organisation, such as the recipients of emails about failed runs.',
  },
  variables: {
    name: 'Variables',
    description: 'Named values for checks and sources, used as `${name}`. The API never returns secured values.',
  },
  dataPipelines: {
    name: 'Data pipelines',
    description: 'Loads from a source into tables of the warehouse: settings, schedule, runs and logs.',
  },
  resumableUploads: {
    name: 'Resumable uploads',
    description: 'Uploads to data pipelines that continue after a broken connection, by tus 1.0.',
  },
  publicDatasets: {
    name: 'Public datasets',
    description: 'Tables that are uploaded once and that data pipelines of every organisation can load.',
  },
  dataQualityChecks: { name: 'Data quality checks', description: 'Queries that return the rows that violate a rule.' },
  dataQualityCheckGroups: {
    name: 'Data quality check groups',
    description: 'Checks that run together. A pipeline can publish its rows only after a group has passed.',
  },
  destinations: {
    name: 'Destinations',
    description: 'Settings, schedules, runs and rejected rows of the systems that receive the rows of a view.',
  },
  workflows: {
    name: 'Workflows',
    description: 'Ordered steps that run pipelines, views, checks and destinations on a schedule.',
  },
  configuration: {
    name: 'Configuration',
    description: 'All objects of an organisation as one document, with names instead of ids.',
  },
  warehouseReaders: {
    name: 'Warehouse readers',
    description: 'Logins with which other programs read schemas of the warehouse.',
  },
  runs: { name: 'Runs', description: 'The runs of all objects, as a list and as a stream of changes.' },
  schedules: { name: 'Schedules', description: 'Planned runs, and schedules in words.' },
  deletedClients: { name: 'Deleted clients', description: 'Data of deleted organisations that was not erased yet.' },
  audit: { name: 'Audit log', description: 'Who changed or exported what in an organisation, and when.' },
  public: { name: 'Open data', description: 'Tables and views that can be read without a token.' },
}

/** The title and descriptions of the OpenAPI document. `nouns` describes each group of operations. */
export const pipelineServiceInfo: ServiceInfo = {
  title: 'Sluice pipeline service',
  version: packageManifest.version,
  description: `Loads data from files, databases and applications into a warehouse, checks it there and pushes it to other systems.\n\n${searchGuide}`,
  nouns: resourceNouns,
}
