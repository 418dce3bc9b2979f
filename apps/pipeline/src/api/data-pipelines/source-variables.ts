import { Problem, type Caller } from '@sluice/http'
import type { Reading } from '../../engine/sources/reading.ts'
import { namesVariables } from '../../engine/variables/replace.ts'
import { withValuesOf } from '../../engine/variables/source-values.ts'
import { variablesOf } from '../../engine/variables/variables.ts'
import { hider } from '../../engine/quality/redact-variables.ts'
import { throwIfSourceProblem, translate } from '../../problems.ts'
import type { PipelineContext } from '../operation.ts'
import type { AskedReading } from './source-asked.ts'

type Hider = ReturnType<typeof hider>

type Asking = Pick<PipelineContext, 'db' | 'keyRing'> & { caller: Caller }

/**
 * Asks a source with the values of variables in its settings and secrets. What a source says may repeat them: `hide` takes
 * those that are secured out of a sentence; from what is thrown they are taken out already. Throws `VariableProblem`, and asks nothing, where
 * stored secrets would go elsewhere than they were given for.
 */
export async function withVariables<T>(
  { db, keyRing, caller }: Asking,
  { givenFor, ...reading }: AskedReading,
  work: (reading: Reading, hide: (sentence: string) => string, hideCells: Hider) => Promise<T>,
): Promise<T> {
  const { settings, secrets } = reading
  if (!namesVariables(settings, secrets)) return work(reading, (sentence) => sentence, hider([]))
  const variables = await variablesOf(db, caller.client, keyRing)
  const ready = { ...reading, ...withValuesOf({ type: reading.type, settings, secrets, givenFor }, variables) }
  try {
    return await work(ready, (sentence) => variables.hideIn(sentence), hider(variables.secured))
  } catch (error) {
    // Leaves out the cause, because the driver repeats the values in it. Keeps the code for the check of an upload.
    throwIfSourceProblem(error, (text) => variables.hideIn(text))
    const problem = translate(error)
    if (!problem) throw error
    const { status, code, title, headers } = problem
    throw new Problem(status, code, title, { detail: variables.hideIn(problem.message), headers })
  }
}
