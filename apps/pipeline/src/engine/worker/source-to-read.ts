import { openSource, type SourceSecrets } from '../../sealed-secrets.ts'
import { namesVariables } from '../variables/replace.ts'
import { withValuesOf } from '../variables/source-values.ts'
import { variablesOf } from '../variables/stored.ts'
import type { PipelineToLoad } from './pipeline-to-load.ts'
import type { WorkParts } from './work.ts'

/**
 * A pipeline's source with the values of variables in its settings and secrets. From now on no log line holds any of what is
 * secret in it. Throws `VariableProblem` when a variable is not there, or leads to another
 * address than the secrets were given for.
 */
export async function sourceToRead(
  { db, keyRing, redaction }: Pick<WorkParts, 'db' | 'keyRing' | 'redaction'>,
  client: string,
  pipeline: PipelineToLoad,
): Promise<{ type: string; settings: unknown; secrets: SourceSecrets }> {
  const { type, settings } = pipeline
  const { secrets, givenFor } = openSource(pipeline, keyRing)
  if (!namesVariables(settings, secrets)) {
    redaction.add(...Object.values(secrets))
    return { type, settings, secrets }
  }
  const variables = await variablesOf(db, client, keyRing)
  const ready = withValuesOf({ type, settings, secrets, givenFor }, variables)
  redaction.add(...variables.spellings, ...Object.values(ready.secrets))
  return { type, ...ready }
}
