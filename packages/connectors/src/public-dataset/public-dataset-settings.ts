import { type ConnectorDefinition, InvalidSetting } from '../settings/connector-definition.ts'

/** A public dataset, which every organisation may load. */
export const publicDatasetDefinition: ConnectorDefinition<'PUBLIC_DATASET', { key: string }> = {
  assertConnection: () => {},
  async assertReferences({ key }, { hasPublicDataset }) {
    if (!(await hasPublicDataset(key)))
      throw new InvalidSetting('/key', `The public dataset "${key}" does not exist. Select another one.`)
  },
  getSettings: ({ key }) => ({ key }),
  getResponseFields: ({ key }) => ({ key }),
  formatSourceName: ({ key }) => key,
}
