import { failpoint } from '../../failpoints.ts'
import { LostRun } from '../../lost-run.ts'
import type { PublishOptions } from '../warehouse.ts'

/** The last look before readers see other rows. Throws `LostRun` unless the run is still in this attempt's hands, or the signal's reason. */
export async function passFence(
  { run, attempt }: { run: string; attempt: number },
  stillOurs: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  if (!(await stillOurs())) throw new LostRun(`Run ${run} is no longer in the hands of attempt ${attempt}.`)
  await failpoint('in-publication')
  signal.throwIfAborted()
}

/** Readers see the new rows. What is left to tidy is not waited for where somebody takes that over. */
export async function afterwards(tidy: () => Promise<void>, { behind }: PublishOptions): Promise<void> {
  await failpoint('published')
  const tidied = tidy()
  if (behind) behind(tidied)
  else await tidied
}
