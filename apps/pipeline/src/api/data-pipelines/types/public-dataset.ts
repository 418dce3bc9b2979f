import { problems } from '@sluice/http'
import type { PipelineKind } from './pipeline-type.ts'

/** A table of the catalogue, which everybody here may load. Whether there is one is asked when the pipeline is written. */
export const publicDataset: PipelineKind<'PUBLIC_DATASET', { key: string }> = {
  checkConnection: () => {},
  check: () => {},
  async checkStored({ key }, trx) {
    // Whoever deletes the dataset waits for this pipeline, and finds it then.
    const found = await trx
      .selectFrom('public_datasets')
      .select('id')
      .where('key', '=', key)
      .forKeyShare()
      .executeTakeFirst()
    if (!found) throw problems.refused('/key', `There is no public dataset with the key "${key}".`)
  },
  settings: ({ key }) => ({ key }),
  secrets: () => ({}),
  fields: ({ key }) => ({ key }),
  sourceName: ({ key }) => key,
}
