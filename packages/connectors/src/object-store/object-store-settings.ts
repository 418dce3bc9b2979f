import { assertCsvOptions } from '../uploaded-file/uploaded-file-settings.ts'
import { InvalidSetting, type SourceOf } from '../settings/connector-definition.ts'
import { findKeyPatternProblem } from './object-key-pattern.ts'

type ObjectStoreSource = SourceOf<'OBJECT_STORAGE_BUCKET' | 'CLOUD_BLOB_STORAGE'>

/** Throws `InvalidSetting` for an invalid key pattern, and for file options that contradict each other. */
export function assertObjectSettings({ key, csvOptions = {} }: Pick<ObjectStoreSource, 'key' | 'csvOptions'>): void {
  const patternProblem = findKeyPatternProblem(key)
  if (patternProblem) throw new InvalidSetting('/key', patternProblem)
  if (csvOptions.delimiter !== undefined)
    throw new InvalidSetting(
      '/csvOptions/delimiter',
      'Object stores do not support this field. Set `delimiter` in the settings of the source instead.',
    )
  assertCsvOptions(csvOptions)
}
