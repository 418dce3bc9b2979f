import { randomBytes, randomUUID } from 'node:crypto'
import { schemaBody, type Asking } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'
import { viewBody } from './view-fixtures.ts'
import { workflowBody } from './workflow-body.ts'

interface Given {
  owner: Asking
  loaded: { schema: string }
}

/** A good request of each operation that saves many objects by name. */
export function goodConfigurations(given: () => Given) {
  const view = () => viewBody(given().loaded.schema, 'select 1 as one')
  const configuration = () => {
    const { name, ...schema } = schemaBody({ name: `Schema ${randomBytes(6).toString('hex')}` })
    const { schema: _id, ...fields } = view()
    return {
      schemas: [{ name, ...schema }],
      variables: [{ name: randomUUID(), secured: true, value: 'not very secret' }],
      views: [{ ...fields, schema: { name } }],
    }
  }
  return {
    'configuration.export': async () => ({ query: '?kinds=schemas&kinds=variables' }),
    'configuration.plan': async () => ({ body: configuration() }),
    'configuration.apply': async () => ({ body: configuration() }),
    'views.saveMany': async () => ({ body: { views: [view(), view()] } }),
    'dataQualityChecks.saveMany': async () => ({ body: { dataQualityChecks: [checkBody()] } }),
    'dataQualityCheckGroups.saveMany': async () => ({ body: { dataQualityCheckGroups: [groupBody()] } }),
    'workflows.saveMany': async () => ({ body: { workflows: [workflowBody([])] } }),
    'destinations.saveMany': async () => {
      const viewSource = { id: (await given().owner.post('/views').send(view()).expect(201)).body.id as string }
      const apiTokenTarget = { url: 'https://dhis2.example.org', authToken: 'd2pat_not_very_secret' }
      const name = `Destination ${randomBytes(6).toString('hex')}`
      return { body: { destinations: [{ name, disabled: false, runTrigger: 'NEVER', viewSource, apiTokenTarget }] } }
    },
  }
}
