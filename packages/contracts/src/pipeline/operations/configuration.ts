import { defineSignature } from '../../operation-signature.ts'
import {
  ApplyQuery,
  ConfigurationBody,
  ConfigurationChanges,
  ExportedConfiguration,
  ExportQuery,
  configurationByteLimit,
  configurationKinds,
  getConfigurationRole,
} from '../configuration.ts'

const manageAny = configurationKinds.map((kind) => getConfigurationRole(kind, 'MANAGE'))

const rules =
  'Each object replaces the one with the same name, or is created. Objects that the configuration does not contain stay unchanged. An absent secret keeps its stored value. Requires the role for each kind in the configuration, and the access to each object that a single request needs.'

export const configurationSignatures = {
  export: defineSignature({
    id: 'configuration.export',
    summary: 'Export the configuration',
    description:
      'Returns the objects that you may see, with names instead of ids and without secrets. The export can be applied to another organisation or installation.',
    method: 'get',
    path: '/configuration',
    guard: configurationKinds.map((kind) => getConfigurationRole(kind, 'SEE')),
    query: ExportQuery,
    response: ExportedConfiguration,
  }),
  plan: defineSignature({
    id: 'configuration.plan',
    summary: 'Show what applying a configuration would change',
    description: `Saves nothing. ${rules}`,
    method: 'post',
    path: '/configuration/plan',
    guard: manageAny,
    body: ConfigurationBody,
    bodyLimit: configurationByteLimit,
    response: ConfigurationChanges,
  }),
  apply: defineSignature({
    id: 'configuration.apply',
    summary: 'Apply a configuration',
    description: `Saves all objects or none. ${rules} Runs then create or change the views in the warehouse.`,
    method: 'post',
    path: '/configuration/apply',
    guard: manageAny,
    query: ApplyQuery,
    body: ConfigurationBody,
    bodyLimit: configurationByteLimit,
    response: ConfigurationChanges,
  }),
}
